// SPDX-License-Identifier: Apache-2.0

// Package wmi calls Windows Management Instrumentation: it reads the instances of a class, and invokes methods of
// classes and instances, where no other interface is documented. Off Windows it has only error codes.
package wmi
