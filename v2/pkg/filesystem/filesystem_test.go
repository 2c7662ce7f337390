// SPDX-License-Identifier: Apache-2.0

package filesystem_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	hostapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
)

// fake is a driver's own machine for its tests. A call of another method would end the test.
type fake struct{ hostapi.HostAPI }

func (fake) IsSymlink(path string) (bool, error) { return path == `C:/b`, nil }

// TestPathsAreChecked: a path that the node would refuse does not reach the driver's HostAPI.
func TestPathsAreChecked(t *testing.T) {
	files, err := filesystem.New(fake{})
	if err != nil {
		t.Fatal(err)
	}
	const bad = `C:\a\..\b`
	ctx := t.Context()
	for name, call := range map[string]func() (any, error){
		"PathExists":    func() (any, error) { return files.PathExists(ctx, &filesystem.PathExistsRequest{Path: bad}) },
		"Mkdir":         func() (any, error) { return files.Mkdir(ctx, &filesystem.MkdirRequest{Path: bad}) },
		"Rmdir":         func() (any, error) { return files.Rmdir(ctx, &filesystem.RmdirRequest{Path: bad}) },
		"RmdirContents": func() (any, error) { return files.RmdirContents(ctx, &filesystem.RmdirContentsRequest{Path: bad}) },
		"IsSymlink":     func() (any, error) { return files.IsSymlink(ctx, &filesystem.IsSymlinkRequest{Path: bad}) },
		"CreateSymlink": func() (any, error) {
			return files.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: `C:\a`, TargetPath: bad})
		},
	} {
		_, err := call()
		failure := (*csiproxy.Error)(nil)
		if status.Code(err) != codes.InvalidArgument || !errors.As(err, &failure) || failure.Reason != "INVALID_PATH" ||
			failure.Method != name {
			t.Errorf("%s of %s: %v, want InvalidArgument and INVALID_PATH", name, bad, err)
		}
	}
	if r, err := files.IsSymlink(ctx, &filesystem.IsSymlinkRequest{Path: `C:/b`}); err != nil || !r.IsSymlink {
		t.Errorf("IsSymlink of a path with a slash, as the node takes it: %v, %v", r, err)
	}
}

func TestValidatePathWindows(t *testing.T) {
	for path, valid := range map[string]bool{
		`C:\var\lib\kubelet`: true, `c:\a..b\`: true, `\var\lib`: true, `D:\`: true,
		``: false, `C:`: false, `C:a`: false, `a\b`: false, `C:\a/b`: false, `C:\a\..\b`: false, `\\server\share`: false,
		`\\?\C:\a`: false, `C:\a:stream`: false, `C:\NUL`: false, `C:\PROGRA~1`: false,
		`C:\` + strings.Repeat("a", 260): false,
	} {
		if err := filesystem.ValidatePathWindows(path); (err == nil) != valid {
			t.Errorf("ValidatePathWindows(%q) = %v, want valid: %t", path, err, valid)
		}
	}
}
