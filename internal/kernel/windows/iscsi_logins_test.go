// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// TestReportLogins calls reportLogins in rounds, as ISCSIPersistentLogins does.
func TestReportLogins(t *testing.T) {
	const one = 2080 // size of one login in bytes
	type answer struct {
		count, size, status uint32
	}
	small := uint32(win32.ERROR_INSUFFICIENT_BUFFER)
	for name, test := range map[string]struct {
		answers     []answer
		count, size int
		err         error
	}{
		"none":                      {[]answer{{0, 0, 0}}, 0, 0, nil},
		"none, and too small":       {[]answer{{0, 0, small}}, 0, 0, nil},
		"the same as a HRESULT":     {[]answer{{0, 0, 0x8007007A}}, 0, 0, nil},
		"none, and a count":         {[]answer{{7, 0, small}}, 0, 0, nil},
		"one":                       {[]answer{{1, one, small}, {1, one, 0}}, 1, one, nil},
		"one that goes meanwhile":   {[]answer{{1, one, small}, {0, 0, small}}, 0, 0, nil},
		"two, and one more at once": {[]answer{{2, 2 * one, small}, {3, 3 * one, small}, {3, 3 * one, 0}}, 3, 3 * one, nil},
		"another failure":           {[]answer{{0, 0, uint32(win32.ISDSC_SERVICE_NOT_RUNNING)}}, 0, 0, win32.ISDSC_SERVICE_NOT_RUNNING},
		"too small for what it is":  {[]answer{{1, one, small}, {1, one, small}}, 0, one, win32.ERROR_INSUFFICIENT_BUFFER},
	} {
		t.Run(name, func(t *testing.T) {
			var count uint32
			round := 0
			b, err := grown(1, func(size *uint32, _ []byte) error {
				status := reportLogins(&count, size, func() uint32 {
					a := test.answers[round]
					round++
					count, *size = a.count, a.size
					return a.status
				})
				if code := win32.ISCSIStatus(status); code != 0 {
					return code
				}
				return nil
			})
			if len(b) != test.size || !errors.Is(err, test.err) || err == nil && int(count) != test.count {
				t.Errorf("%d logins in %d bytes, %v; want %d in %d, %v", count, len(b), err, test.count, test.size, test.err)
			}
			if round != len(test.answers) {
				t.Errorf("%d calls, want %d", round, len(test.answers))
			}
		})
	}
}
