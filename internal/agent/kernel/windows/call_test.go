// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func TestFailureCarriesTheCode(t *testing.T) {
	for _, test := range []struct {
		name string
		err  error
		want win32.Errno
	}{
		{"Win32 code", windows.ERROR_NOT_A_REPARSE_POINT, win32.ERROR_NOT_A_REPARSE_POINT},
		{"Win32 code, wrapped", fmt.Errorf("opening: %w", windows.ERROR_ACCESS_DENIED), win32.ERROR_ACCESS_DENIED},
		{"NTSTATUS", windows.STATUS_OBJECT_NAME_NOT_FOUND, win32.ERROR_FILE_NOT_FOUND},
		{"NTSTATUS of another name", windows.STATUS_OBJECT_NAME_COLLISION, win32.ERROR_ALREADY_EXISTS},
		{"NTSTATUS of a file that is being deleted", windows.STATUS_DELETE_PENDING, win32.ERROR_DELETE_PENDING},
		{"NTSTATUS of a denied access", windows.STATUS_ACCESS_DENIED, win32.ERROR_ACCESS_DENIED},
		{"CONFIGRET", windows.CR_BUFFER_SMALL, win32.ERROR_INSUFFICIENT_BUFFER},
		{"CONFIGRET without a Win32 code", windows.CR_FAILURE, win32.ERROR_GEN_FAILURE},
		{"code of BitLocker", syscall.Errno(windows.FVE_E_LOCKED_VOLUME), win32.FVE_E_LOCKED_VOLUME},
		{"failed without a code", syscall.EINVAL, win32.ERROR_GEN_FAILURE},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := failure("Function", "object", test.err)
			var got *kernel.Error
			if !errors.As(err, &got) {
				t.Fatalf("got %T", err)
			}
			if diff := cmp.Diff(*got, kernel.Error{Function: "Function", Object: "object", Code: test.want}); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
	if err := failure("Function", "object", nil); err != nil {
		t.Errorf("success is %v", err)
	}
}

// check fails the test unless err carries the code; 0 is success.
func check(t *testing.T, err error, want win32.Errno) {
	t.Helper()
	switch {
	case want == 0 && err != nil:
		t.Errorf("got %v, want success", err)
	case want != 0 && !errors.Is(err, want):
		t.Errorf("got %v, want %v", err, want)
	}
}

// must ends the test when err is not nil.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
