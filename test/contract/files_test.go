// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"os"
	"testing"

	"google.golang.org/grpc/codes"

	fs "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

func rmdir(t *testing.T, n *testnode.Node, path string, force bool) error {
	t.Helper()
	_, err := n.Filesystem.Rmdir(t.Context(), &fs.RmdirRequest{Path: path, Force: force})
	return err
}

func rmdirContents(t *testing.T, n *testnode.Node, path string) error {
	t.Helper()
	_, err := n.Filesystem.RmdirContents(t.Context(), &fs.RmdirContentsRequest{Path: path})
	return err
}

func TestRmdir(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	mkdir(t, n, podsPath+`\a\b`)
	wantCode(t, rmdir(t, n, podsPath+`\a`, false), codes.FailedPrecondition)
	noError(t, rmdir(t, n, podsPath+`\a\b`, false))
	wantCode(t, rmdir(t, n, podsPath+`\a\b`, false), codes.NotFound)
	noError(t, rmdir(t, n, podsPath+`\a\b`, true))
	noError(t, rmdir(t, n, podsPath+`\none\at\all`, true))
	wantCode(t, rmdir(t, n, podsPath+`\none\at\all`, false), codes.NotFound)
	n.WriteFile(podsPath+`\a\file`, "x")
	wantCode(t, rmdir(t, n, podsPath+`\a\file`, true), codes.FailedPrecondition)
	noError(t, rmdir(t, n, podsPath+`\a`, true))
	if exists(t, n, podsPath+`\a`) {
		t.Error("the tree is still there")
	}
	for _, force := range []bool{false, true} {
		wantCode(t, rmdir(t, n, `C:\var\lib\kubelet`, force), codes.FailedPrecondition)
	}
	published(t, n)
	noError(t, rmdir(t, n, publish, false)) // a link goes without force
}

func TestRmdirContents(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	mounted(t, n, 1)
	n.WriteFile(staging+`\data`, "precious")
	published(t, n)
	wantCode(t, rmdirContents(t, n, staging), codes.FailedPrecondition)
	wantCode(t, rmdirContents(t, n, publish), codes.FailedPrecondition)
	wantCode(t, rmdirContents(t, n, `C:\var\lib\kubelet`), codes.FailedPrecondition)
	wantCode(t, rmdirContents(t, n, podsPath+`\none`), codes.NotFound)
	n.WriteFile(podsPath+`\file`, "")
	wantCode(t, rmdirContents(t, n, podsPath+`\file`), codes.FailedPrecondition)
	mkdir(t, n, staging+`\inner\deep`)
	n.WriteFile(staging+`\inner\deep\file`, "goes")
	noError(t, rmdirContents(t, n, staging+`\inner`)) // inside the mounted volume
	if !exists(t, n, staging+`\inner`) || exists(t, n, staging+`\inner\deep`) {
		t.Error("the directory did not stay, or its content did")
	}
	noError(t, rmdirContents(t, n, podsPath))
	if exists(t, n, publish) || n.ReadFile(staging+`\data`) != "precious" {
		t.Error("emptying a directory did not remove the link in it alone")
	}
}

func TestMkdir(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	mkdir(t, n, podsPath+`\a..b\`)
	mkdir(t, n, podsPath+`\A..B\c`)
	mkdir(t, n, `C:\var\lib\kubelet`)
	if !exists(t, n, podsPath+`\a..b\c`) {
		t.Error("names that differ by case are two directories")
	}
	n.WriteFile(podsPath+`\file`, "")
	for _, path := range []string{podsPath + `\file`, podsPath + `\file\below`} {
		_, err := n.Filesystem.Mkdir(t.Context(), &fs.MkdirRequest{Path: path})
		wantCode(t, err, codes.FailedPrecondition)
	}
	mounted(t, n, 1)
	mkdir(t, n, staging)
	mkdir(t, n, staging+`\in\the\volume`)
	published(t, n)
	mkdir(t, n, publish)
	mkdir(t, n, publish+`\through\the\link`)
	if !exists(t, n, staging+`\through\the\link`) {
		t.Error("the directory did not arrive in the volume")
	}
}

// An indexer or a virus scanner that has a file open is waited for.
func TestSharingViolationsAreRiddenOut(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	mkdir(t, n, podsPath+`\a\b`)
	n.WriteFile(podsPath+`\a\b\file`, "x")
	n.Faults.Add(testnode.Fault{Function: "SetInformation", Skip: 1, Times: 3, Error: win32.ERROR_SHARING_VIOLATION})
	noError(t, rmdir(t, n, podsPath+`\a`, true))
	if exists(t, n, podsPath+`\a`) {
		t.Error("the tree is still there")
	}
	mkdir(t, n, podsPath+`\a`)
	n.Faults.Add(testnode.Fault{Function: "SetInformation", Error: win32.ERROR_SHARING_VIOLATION})
	wantCode(t, rmdir(t, n, podsPath+`\a`, true), codes.Unavailable)
	n.Faults.Release()
	noError(t, rmdir(t, n, podsPath+`\a`, true))
}

// A file system that does not know POSIX deletion, as FAT and many servers do not, is one that files go from when they
// are closed, and read-only ones only when they no longer are.
func TestRemovalWithoutPOSIXSemantics(t *testing.T) {
	for _, code := range []win32.Errno{
		win32.ERROR_INVALID_PARAMETER, win32.ERROR_NOT_SUPPORTED, win32.ERROR_INVALID_FUNCTION, win32.ERROR_INVALID_LEVEL,
	} {
		t.Run(code.Name(), func(t *testing.T) {
			n := testnode.Start(t, testnode.Options{})
			mkdir(t, n, podsPath+`\a\b`)
			n.WriteFile(podsPath+`\a\b\file`, "x")
			n.WriteFile(podsPath+`\a\fixed`, "x")
			noError(t, os.Chmod(n.HostPath(podsPath+`\a\fixed`), 0o400))
			published(t, n)
			n.Faults.Add(testnode.Fault{Function: "SetInformation", Code: win32.FileDispositionInfoEx, Error: code})
			wantCode(t, rmdir(t, n, podsPath+`\a`, false), codes.FailedPrecondition)
			noError(t, rmdir(t, n, podsPath+`\a`, true))
			noError(t, rmdir(t, n, publish, false))
			if exists(t, n, podsPath+`\a`) || exists(t, n, publish) {
				t.Error("they are still there")
			}
		})
	}
	t.Run("what is not removed stays read-only", func(t *testing.T) {
		n := testnode.Start(t, testnode.Options{})
		mkdir(t, n, podsPath+`\a`)
		n.WriteFile(podsPath+`\a\fixed`, "x")
		noError(t, os.Chmod(n.HostPath(podsPath+`\a\fixed`), 0o400))
		n.Faults.Add(testnode.Fault{Function: "SetInformation", Code: win32.FileDispositionInfoEx, Error: win32.ERROR_INVALID_PARAMETER})
		n.Faults.Add(testnode.Fault{Function: "SetInformation", Code: win32.FileDispositionInfo, Object: `\fixed`, Error: win32.ERROR_IO_DEVICE})
		wantCode(t, rmdir(t, n, podsPath+`\a`, true), codes.Unavailable)
		info, err := os.Stat(n.HostPath(podsPath + `\a\fixed`))
		noError(t, err)
		if info.Mode().Perm()&0o200 != 0 {
			t.Errorf("the file is %v now", info.Mode())
		}
	})
}

// Whoever still has a file open that is being deleted is waited for.
func TestPendingDeletionIsRiddenOut(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	mkdir(t, n, podsPath+`\a`)
	n.WriteFile(podsPath+`\a\file`, "x")
	n.Faults.Add(testnode.Fault{Function: "OpenFile", Object: `\a\file`, Times: 3, Error: win32.ERROR_DELETE_PENDING})
	noError(t, rmdirContents(t, n, podsPath+`\a`))
	n.WriteFile(podsPath+`\a\file`, "x")
	n.Faults.Add(testnode.Fault{Function: "OpenFile", Object: `\a\file`, Times: 3, Error: win32.ERROR_DELETE_PENDING})
	noError(t, rmdir(t, n, podsPath+`\a`, true))

	mkdir(t, n, podsPath+`\a`)
	n.WriteFile(podsPath+`\a\file`, "x")
	n.Faults.Add(testnode.Fault{Function: "OpenFile", Object: `\a\file`, Error: win32.ERROR_DELETE_PENDING}) // it never closes it
	wantCode(t, rmdir(t, n, podsPath+`\a`, true), codes.Unavailable)
}

// A server may say of a file where a directory is to be opened that the name is taken.
func TestNameTakenOnTheWay(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	n.WriteFile(podsPath+`\file`, "")
	n.Faults.Add(testnode.Fault{Function: "OpenFile", Object: `\file`, Error: win32.ERROR_ALREADY_EXISTS})
	_, err := n.Filesystem.Mkdir(t.Context(), &fs.MkdirRequest{Path: podsPath + `\file\below`})
	wantReason(t, err, codes.FailedPrecondition, "NOT_A_DIRECTORY")
}

func TestOtherWorkingDirectories(t *testing.T) {
	n := testnode.Start(t, testnode.Options{WorkingDirs: []string{`C:\local\disks`}})
	_, err := n.Filesystem.PathExists(t.Context(), &fs.PathExistsRequest{Path: `C:\local\disks\a`})
	wantCode(t, err, codes.OK)
	_, err = n.Filesystem.PathExists(t.Context(), &fs.PathExistsRequest{Path: `C:\local\disks-evil`})
	wantCode(t, err, codes.InvalidArgument)
}
