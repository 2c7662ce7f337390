// SPDX-License-Identifier: Apache-2.0

// Package faulttext reads and writes the faults of the admin API as people do: codes by their names.
package faulttext
