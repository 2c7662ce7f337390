// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
)

// TestFunctions: a method missing from the list could not have faults or a metric.
func TestFunctions(t *testing.T) {
	var want []string
	for _, methods := range []reflect.Type{reflect.TypeFor[kernel.Kernel](), reflect.TypeFor[kernel.Handle]()} {
		for i := range methods.NumMethod() {
			if name := methods.Method(i).Name; name != "Close" {
				want = append(want, name)
			}
		}
	}
	slices.Sort(want)
	got := slices.Sorted(slices.Values(kernel.Functions()))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Functions differs from the interfaces (-methods +listed):\n%s", diff)
	}
}
