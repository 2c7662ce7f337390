// SPDX-License-Identifier: Apache-2.0

// Package faults disturbs kernel calls on demand: it lets them fail, wait, hang or end the process, before or after they
// took effect.
package faults
