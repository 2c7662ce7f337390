// SPDX-License-Identifier: Apache-2.0

// Package v9 holds the stubs of an unreleased version of the disk API. Tests add it, to show that a version takes a
// proto and its table rows.
package v9
