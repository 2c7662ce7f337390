// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"math"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func TestGrown(t *testing.T) {
	// answer returns a call that has the given number of units of 3 bytes to return.
	answer := func(has uint32, short error) func(*uint32, []byte) error {
		return func(n *uint32, buffer []byte) error {
			room := *n
			if *n = has; has > room {
				return short
			}
			for i := range buffer[:3*has] {
				buffer[i] = byte(i)
			}
			return nil
		}
	}
	// late returns a call that has so many units, and until they fit counts fewer than there is room for.
	late := func(has, fewer uint32) func(*uint32, []byte) error {
		return func(n *uint32, _ []byte) error {
			if *n < has {
				*n -= fewer
				return win32.ERROR_INSUFFICIENT_BUFFER
			}
			*n = has
			return nil
		}
	}
	// gone returns a call that has something the first time only.
	gone := func() func(*uint32, []byte) error {
		has := uint32(900)
		return func(n *uint32, _ []byte) error {
			*n, has = has, 0
			return win32.ERROR_INSUFFICIENT_BUFFER
		}
	}
	for name, test := range map[string]struct {
		call func(*uint32, []byte) error
		size int
		err  error
	}{
		"nothing":                  {answer(0, win32.ERROR_INSUFFICIENT_BUFFER), 0, nil},
		"too small":                {answer(5, win32.ERROR_INSUFFICIENT_BUFFER), 15, nil},
		"too small, iSCSI":         {answer(5, win32.ISDSC_BUFFER_TOO_SMALL), 15, nil},
		"more data":                {answer(5, win32.ERROR_MORE_DATA), 15, nil},
		"says success and a count": {answer(5, nil), 15, nil},
		"fewer the second time": {func(n *uint32, _ []byte) error {
			if *n < 900 {
				*n = 900
				return win32.ERROR_INSUFFICIENT_BUFFER
			}
			*n = 2
			return nil
		}, 6, nil},
		"grows on": {func(n *uint32, _ []byte) error {
			*n++
			return win32.ERROR_INSUFFICIENT_BUFFER
		}, 0, win32.ERROR_INSUFFICIENT_BUFFER},
		"more than fits":   {answer(900, win32.ERROR_INSUFFICIENT_BUFFER), 2700, nil},
		"counts too few":   {late(900, 1), 2700, nil},
		"counts what fits": {late(900, 0), 2700, nil},
		"never has room": {func(*uint32, []byte) error { return win32.ERROR_INSUFFICIENT_BUFFER }, 0,
			win32.ERROR_INSUFFICIENT_BUFFER},
		"needs none": {func(n *uint32, _ []byte) error { *n = 0; return win32.ERROR_INSUFFICIENT_BUFFER }, 0,
			win32.ERROR_INSUFFICIENT_BUFFER},
		"needs none, iSCSI": {func(n *uint32, _ []byte) error { *n = 0; return win32.ISDSC_BUFFER_TOO_SMALL }, 0,
			win32.ERROR_INSUFFICIENT_BUFFER},
		"goes meanwhile": {gone(), 0, win32.ERROR_INSUFFICIENT_BUFFER},
		"a null pointer is not passed": {func(n *uint32, b []byte) error {
			if *n = 0; len(b) == 0 {
				return win32.ERROR_NOACCESS
			}
			return nil
		}, 0, nil},
		"absurd": {answer(math.MaxUint32, win32.ERROR_INSUFFICIENT_BUFFER), 0,
			win32.ERROR_INSUFFICIENT_BUFFER},
		"fails": {func(*uint32, []byte) error { return win32.ISDSC_SERVICE_NOT_RUNNING }, 0,
			win32.ISDSC_SERVICE_NOT_RUNNING},
		"fails with a wild size": {func(n *uint32, _ []byte) error { *n = 7000; return win32.ERROR_ACCESS_DENIED }, 0,
			win32.ERROR_ACCESS_DENIED},
		"a warning, with the answer": {func(n *uint32, _ []byte) error {
			room := *n
			if *n = 2; room < 2 {
				return win32.ERROR_INSUFFICIENT_BUFFER
			}
			return win32.ISDSC_OPERATION_NOT_ALL_SUCCESS
		}, 6, win32.ISDSC_OPERATION_NOT_ALL_SUCCESS},
	} {
		got, err := grown(3, test.call)
		if len(got) != test.size || !errors.Is(err, test.err) {
			t.Errorf("%s: got %d bytes, %v, want %d, %v", name, len(got), err, test.size, test.err)
		}
	}
}

// TestNoLogins: a buffer that is too small and needs no bytes means that there are no logins, and nothing else does.
func TestNoLogins(t *testing.T) {
	const hresult = 0x8007007A
	tooSmall, stopped := uint32(win32.ERROR_INSUFFICIENT_BUFFER), uint32(win32.ISDSC_SERVICE_NOT_RUNNING)
	for _, test := range []struct{ needed, status, want uint32 }{
		{0, tooSmall, 0}, {0, hresult, 0}, {0, uint32(win32.ISDSC_BUFFER_TOO_SMALL), 0},
		{1, tooSmall, tooSmall}, {0, 0, 0}, {0, stopped, stopped},
	} {
		if got := noLogins(test.needed, test.status); got != test.want {
			t.Errorf("status 0x%X with %d bytes: got 0x%X, want 0x%X", test.status, test.needed, got, test.want)
		}
	}
}
