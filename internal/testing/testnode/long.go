// SPDX-License-Identifier: Apache-2.0

package testnode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Long reports whether tests should try more than `make test` has time for. `make test-long` sets CSI_PROXY_LONG for
// that.
func Long() bool { return os.Getenv("CSI_PROXY_LONG") != "" }

// All reports whether tests should try everything, which takes hours: CSI_PROXY_LONG=all.
func All() bool { return os.Getenv("CSI_PROXY_LONG") == "all" }

// Sampled reports whether the disturbance with this number is to be tried: every nth, in a long run three times as
// many, beginning with a different one for each subject, so that the subjects together try most of them. All are tried
// if All says so. With -short, as under the race detector, which makes all about four times as slow, a quarter as
// many are tried. The test's log has the share that was tried.
func Sampled(t testing.TB, number, subject, every int) bool {
	t.Helper()
	switch {
	case All():
		every = 1
	case Long():
		every = (every + 2) / 3
	case testing.Short():
		every *= 4
	}
	is := number%every == subject%every
	Tried(t, is, 1)
	return is
}

// tried has the share of each test that samples.
var tried sync.Map

type share struct{ tried, all atomic.Int64 }

// Tried counts disturbances of a test, those that it tries and those that its sample leaves out. The test's log tells
// how many there were of each.
func Tried(t testing.TB, is bool, n int) {
	t.Helper()
	stored, known := tried.LoadOrStore(t, &share{})
	s := stored.(*share) //nolint:forcetypeassert // there is nothing else in it
	s.all.Add(int64(n))
	if is {
		s.tried.Add(int64(n))
	}
	if !known {
		t.Cleanup(func() {
			tried.Delete(t)
			if some, all := s.tried.Load(), s.all.Load(); some < all {
				t.Logf("tried %d of %d (CSI_PROXY_LONG=all tries all)", some, all)
				tellShare(t, some, all)
			}
		})
	}
}

// tellShare appends the share of a test to the file csi-proxy-sampled of the temporary directory, if CSI_PROXY_SAMPLED
// is set: go test hides what passing tests print, and make test shows the sum of each suite.
func tellShare(t testing.TB, some, all int64) {
	if os.Getenv("CSI_PROXY_SAMPLED") == "" {
		return
	}
	f, err := os.OpenFile(filepath.Join(os.TempDir(), "csi-proxy-sampled"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintf(f, "%s %d %d\n", strings.TrimSuffix(filepath.Base(os.Args[0]), ".test"), some, all)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Log(err)
	}
}
