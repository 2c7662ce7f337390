// SPDX-License-Identifier: Apache-2.0

package filesystem_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
)

// fake is a driver's own machine for its tests.
type fake struct{ calls []string }

func (f *fake) called(args ...any) error {
	f.calls = append(f.calls, fmt.Sprintln(args...))
	return nil
}

func (f *fake) PathExists(path string) (bool, error) { return true, f.called("PathExists", path) }
func (f *fake) PathValid(path string) (bool, error)  { return true, f.called("PathValid", path) }
func (f *fake) Mkdir(path string) error              { return f.called("Mkdir", path) }
func (f *fake) Rmdir(path string, force bool) error  { return f.called("Rmdir", path, force) }
func (f *fake) RmdirContents(path string) error      { return f.called("RmdirContents", path) }
func (f *fake) CreateSymlink(oldname, newname string) error {
	return f.called("CreateSymlink", oldname, newname)
}
func (f *fake) IsSymlink(path string) (bool, error) { return true, f.called("IsSymlink", path) }

// TestFakeIsCalled: the driver's HostAPI receives the driver's calls, and its answers arrive.
func TestFakeIsCalled(t *testing.T) {
	f := &fake{}
	files, err := filesystem.New(f)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	var got []any
	note := func(response any, err error) { got = append(got, response, err) }
	note(files.PathExists(ctx, &filesystem.PathExistsRequest{Path: `C:\a`}))
	note(files.PathValid(ctx, &filesystem.PathValidRequest{Path: `\\server\share`}))
	note(files.Mkdir(ctx, &filesystem.MkdirRequest{Path: `\var\lib`}))
	note(files.Rmdir(ctx, &filesystem.RmdirRequest{Path: `C:\a`, Force: true}))
	note(files.RmdirContents(ctx, &filesystem.RmdirContentsRequest{Path: `C:\a`}))
	note(files.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: `C:\a`, TargetPath: `C:\b`}))
	note(files.IsSymlink(ctx, &filesystem.IsSymlinkRequest{Path: `C:/b`}))
	if diff := cmp.Diff(got, []any{
		&filesystem.PathExistsResponse{Exists: true}, nil,
		&filesystem.PathValidResponse{Valid: true}, nil,
		&filesystem.MkdirResponse{}, nil,
		&filesystem.RmdirResponse{}, nil,
		&filesystem.RmdirContentsResponse{}, nil,
		&filesystem.CreateSymlinkResponse{}, nil,
		&filesystem.IsSymlinkResponse{IsSymlink: true}, nil,
	}); diff != "" {
		t.Errorf("answers (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(f.calls, []string{
		"PathExists C:\\a\n", "PathValid \\\\server\\share\n", "Mkdir \\var\\lib\n", "Rmdir C:\\a true\n",
		"RmdirContents C:\\a\n",
		"CreateSymlink C:\\a C:\\b\n", "IsSymlink C:/b\n",
	}); diff != "" {
		t.Errorf("calls (-got +want):\n%s", diff)
	}
}

// TestPathsAreChecked: a path that the node would refuse does not reach the driver's HostAPI.
func TestPathsAreChecked(t *testing.T) {
	f := &fake{}
	files, err := filesystem.New(f)
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
	if len(f.calls) > 0 {
		t.Errorf("the machine was asked %q", f.calls)
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

func TestNewNeedsAHostAPI(t *testing.T) {
	if _, err := filesystem.New(nil); err == nil {
		t.Error("filesystem.New(nil) succeeds")
	}
}
