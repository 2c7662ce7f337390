// SPDX-License-Identifier: Apache-2.0

package winpath_test

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// TestFold: letters are the same only where every table of NTFS says so.
func TestFold(t *testing.T) {
	for _, pair := range []struct {
		a, b string
		same bool
	}{
		{`C:\Kubelet`, `c:\kUBELET`, true}, {"ÀÉÿ", "àéŸ", true}, {"Ωω", "ωΩ", true}, {"Жя", "жЯ", true}, {"ẤＫ", "ấｋ", true},
		{"\u212a", "k", false}, {"\u212b", "å", false}, {"ſ", "s", false}, {"ı", "i", false}, {"İ", "i", false},
		{"µ", "μ", false}, {"ς", "σ", false}, {"ß", "ẞ", false}, {"Ა", "ა", false}, {"𐐀", "𐐨", false}, {"Ꭰ", "ꭰ", false},
	} {
		if got := winpath.Fold(pair.a) == winpath.Fold(pair.b); got != pair.same {
			t.Errorf("%q and %q are the same: %t, want %t", pair.a, pair.b, got, pair.same)
		}
	}
}
