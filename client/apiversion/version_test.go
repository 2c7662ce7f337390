// SPDX-License-Identifier: Apache-2.0

package apiversion_test

import (
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
)

func TestNewVersion(t *testing.T) {
	valid := []string{"v1", "v2", "v10", "v1alpha1", "v1beta3", "v2alpha12", "v18446744073709551615"}
	for _, name := range valid {
		version, err := apiversion.NewVersion(name)
		if err != nil || version.String() != name || !apiversion.IsValidVersion(name) {
			t.Errorf("NewVersion(%q) = %v, %v, valid %t", name, version, err, apiversion.IsValidVersion(name))
		}
	}
	invalid := []string{
		"", "1", "v", "v0", "v01", "V1", "v1.0", "v1alpha", "v1alpha0", "v1beta01",
		"v1gamma1", "v1Alpha1", "v-1", " v1", "v1 ", "v1\n", "v1alpha1beta1", "whatever",
		"v18446744073709551616", "v1beta18446744073709551616",
	}
	for _, name := range invalid {
		version, err := apiversion.NewVersion(name)
		if err == nil || version != (apiversion.Version{}) || apiversion.IsValidVersion(name) {
			t.Errorf("NewVersion(%q) = %v, %v, want the zero Version and an error", name, version, err)
		}
	}
}

func TestNewVersionOrPanicPanicsOnlyOnABadName(t *testing.T) {
	if got := apiversion.NewVersionOrPanic("v8").String(); got != "v8" {
		t.Errorf("NewVersionOrPanic(v8) = %q, want v8", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("NewVersionOrPanic(notvalid) returned, want a panic")
		}
	}()
	apiversion.NewVersionOrPanic("notvalid")
}

// TestCompare compares every pair of one ascending list, so that the order is
// proven to be total, antisymmetric and transitive on it.
func TestCompare(t *testing.T) {
	ascending := strings.Fields(`v1alpha1 v1alpha2 v1alpha10 v1beta1 v1beta2 v1beta10 v1
		v2alpha1 v2beta1 v2 v7alpha98 v7beta12 v7 v8alpha1 v10alpha1 v10`)
	for i, left := range ascending {
		for j, right := range ascending {
			want := apiversion.Equal
			switch {
			case i < j:
				want = apiversion.Lesser
			case i > j:
				want = apiversion.Greater
			}
			got := apiversion.NewVersionOrPanic(left).Compare(apiversion.NewVersionOrPanic(right))
			if got != want {
				t.Errorf("%s.Compare(%s) = %d, want %d", left, right, got, want)
			}
		}
	}
}

func TestZeroVersion(t *testing.T) {
	var zero apiversion.Version
	if got := zero.String(); got != "" {
		t.Errorf("zero Version prints as %q, want the empty string", got)
	}
	if got := zero.Compare(apiversion.NewVersionOrPanic("v1alpha1")); got != apiversion.Lesser {
		t.Errorf("zero Version compares as %d to v1alpha1, want %d", got, apiversion.Lesser)
	}
}

func FuzzNewVersion(f *testing.F) {
	for _, seed := range []string{"v1", "v1alpha1", "v2beta10", "v0", "", "v1\n", "v99999999999999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		version, err := apiversion.NewVersion(name)
		if err != nil {
			return
		}
		if got := version.String(); got != name {
			t.Errorf("NewVersion(%q) prints as %q", name, got)
		}
		if got := version.Compare(apiversion.NewVersionOrPanic(name)); got != apiversion.Equal {
			t.Errorf("%v compares as %d to itself", version, got)
		}
	})
}
