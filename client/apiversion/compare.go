// SPDX-License-Identifier: Apache-2.0

package apiversion

import "cmp"

// A Comparison says how one Version orders relative to another.
type Comparison int

// The results of Compare. Negating one swaps the operands.
const (
	Lesser  Comparison = -1
	Equal   Comparison = 0
	Greater Comparison = 1
)

// Compare orders v relative to other by age: first by major number, then alpha
// before beta before stable, then by the number after alpha or beta. So
// v1alpha1 < v1beta1 < v1 < v2alpha1.
//
// This is not the order in which Kubernetes lists versions by preference; there
// every stable version ranks above every beta, and v1 above v2alpha1.
func (v Version) Compare(other Version) Comparison {
	return Comparison(cmp.Or(
		cmp.Compare(v.major, other.major),
		cmp.Compare(v.stability, other.stability),
		cmp.Compare(v.minor, other.minor),
	))
}
