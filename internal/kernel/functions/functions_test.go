// SPDX-License-Identifier: Apache-2.0

package functions_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/functions"
)

// TestAll: a method missing from the list could not have faults or a metric.
func TestAll(t *testing.T) {
	var want []string
	for _, methods := range []reflect.Type{reflect.TypeFor[kernel.Kernel](), reflect.TypeFor[kernel.Handle]()} {
		for i := range methods.NumMethod() {
			if name := methods.Method(i).Name; name != "Close" {
				want = append(want, name)
			}
		}
	}
	slices.Sort(want)
	got := slices.Sorted(slices.Values(functions.All()))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("All differs from the interfaces (-methods +listed):\n%s", diff)
	}
}
