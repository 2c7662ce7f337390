// SPDX-License-Identifier: Apache-2.0

// Package doctor tells from what is known about a node what is wrong with it and what to do. It looks at nothing itself:
// what it is given as Facts, and that may be incomplete, it judges.
package doctor
