// SPDX-License-Identifier: Apache-2.0

// Package doctor judges the state of a node: what is wrong with it and what to do. It looks at nothing itself but is
// given Facts, which may be incomplete.
package doctor
