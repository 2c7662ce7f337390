// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestUnderwayListsTheOldestFirst(t *testing.T) {
	var u underway
	var a, b, c entry
	u.add(&a, "a")
	u.add(&b, "b")
	u.begin(&b)
	u.add(&c, "c")
	check := func(want ...Operation) {
		t.Helper()
		if diff := cmp.Diff(u.list(), want, cmpopts.IgnoreFields(Operation{}, "Age"), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-got +want):\n%s", diff)
		}
	}
	check(Operation{Name: "a", Waiting: true}, Operation{Name: "b"}, Operation{Name: "c", Waiting: true})
	u.remove(&b)
	check(Operation{Name: "a", Waiting: true}, Operation{Name: "c", Waiting: true})
	u.remove(&c)
	u.remove(&a)
	check()
}
