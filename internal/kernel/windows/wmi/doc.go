// SPDX-License-Identifier: Apache-2.0

// Package wmi calls Windows Management Instrumentation: it reads the instances of a class, and invokes methods of classes
// and instances. It exists for what has no other documented interface. Off Windows only its error codes are there.
package wmi
