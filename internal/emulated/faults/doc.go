// SPDX-License-Identifier: Apache-2.0

// Package faults disturbs kernel calls and API calls on demand: it makes them fail, wait, hang, lose their connection
// or crash the process, before or after they take effect.
package faults
