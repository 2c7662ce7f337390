// SPDX-License-Identifier: Apache-2.0

// Package setting has the values that a scenario file writes differently from Go, such as sizes with a unit.
package setting
