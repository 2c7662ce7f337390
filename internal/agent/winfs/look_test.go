// SPDX-License-Identifier: Apache-2.0

package winfs_test

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
)

// A look at a path is one kernel call, however deep it is. A link on the way costs the walk as well, also
// where the operator made it the working directory. What is missing above the last name is walked to, for its error.
func TestLooksAreOneStep(t *testing.T) {
	n := newNode(t)
	n.plantLinks()
	n.plant(`C:\behind`, reparse.Junction(pods))
	n.plant(`C:\dangling`, reparse.Symlink(`C:\nowhere`))
	n.put(`C:\`, "aFile")
	var err error
	n.policy, err = winfs.NewPolicy([]string{`C:\var\lib\kubelet`, `C:\behind`, `C:\dangling`, `C:\aFile`, `C:\none`}, nil)
	n.check(err)
	const once, walked = 1, 2
	aFile := failure{errdefs.InvalidArgument, "DIRECTORY", `opening the working directory C:\aFile`}
	below := failure{errdefs.FailedPrecondition, reason.NotADirectory, "is a file"}
	for path, test := range map[string]struct {
		exists bool
		opens  int // walked: that many or more
		failure
	}{
		pods + `\dir\below`: {exists: true, opens: once}, pods + `\dir\none`: {opens: once},
		pods + `\link`:    {exists: true, opens: once},
		pods + `\nowhere`: {exists: true, opens: once}, pods + `\volume`: {exists: true, opens: once},
		pods + `\none\below`: {opens: walked}, pods + `\link\below`: {exists: true, opens: walked},
		pods + `\volume\inner`:     {exists: true, opens: walked},
		pods + `\dir\file\below`:   {opens: walked, failure: below},
		pods + `\outside\System32`: {opens: walked, failure: refused(`-working-dir=C:\Windows would allow it`)},
		`C:\behind\dir\below`:      {exists: true, opens: walked}, `C:\behind\none`: {opens: walked},
		`C:\behind`:   {exists: true, opens: once},
		`C:\dangling`: {opens: once}, `C:\dangling\below`: {opens: walked}, `C:\none`: {opens: once},
		`C:\none\below`: {opens: walked},
		`C:\aFile`:      {opens: once, failure: aFile}, `C:\aFile\below`: {opens: walked, failure: aFile},
	} {
		for name, look := range map[string]func(files *winfs.FS) (bool, error){
			"Exists": func(files *winfs.FS) (bool, error) { return files.Exists(n.path(path)) },
			"Stat": func(files *winfs.FS) (bool, error) {
				_, err := files.Stat(n.path(path))
				if errdefs.IsMissing(err) {
					return false, nil
				}
				return err == nil, err
			},
		} {
			opens := 0
			n.around = func(call kernel.Call, do func() error) error {
				if call.Function == "OpenFile" || call.Function == "QueryAttributes" {
					opens++
				}
				return do()
			}
			err := n.run(func(files *winfs.FS) error {
				exists, err := look(files)
				if exists != test.exists {
					t.Errorf("%s of %s: %t", name, path, exists)
				}
				return err
			})
			if test.want(t, name+" of "+path, err); min(opens, walked) != test.opens {
				t.Errorf("%s of %s opens %d times", name, path, opens)
			}
		}
	}
}

// Whatever Windows says in the first step, but that only the last name is missing, the walk decides. So nothing depends
// on how OBJ_DONT_REPARSE treats a link in the last place, nor on a Windows that knows the flag.
func TestTheWalkDecides(t *testing.T) {
	n := newNode(t)
	n.plantLinks()
	for code, walks := range map[win32.Errno]bool{
		win32.ERROR_FILE_NOT_FOUND: false, win32.ERROR_PATH_NOT_FOUND: true,
		win32.ERROR_REPARSE_POINT_ENCOUNTERED: true, win32.ERROR_ACCESS_DENIED: true, win32.ERROR_DELETE_PENDING: true,
		win32.ERROR_SHARING_VIOLATION: true, win32.ERROR_INVALID_PARAMETER: true, win32.ERROR_CANT_ACCESS_FILE: true,
		win32.ERROR_IO_DEVICE: true,
	} {
		n.around = func(call kernel.Call, do func() error) error {
			if call.Function == "QueryAttributes" {
				return fault(call, code)
			}
			if call.Function == "OpenFile" {
				if how, _ := call.Parameters[0].(kernel.OpenOptions); how.DontReparse {
					return fault(call, code)
				}
			}
			return do()
		}
		for _, name := range []string{"dir", `dir\file`, "link", "nowhere", "gone", "volume", "foreign"} {
			if exists, err := n.exists(pods + `\` + name); exists != walks || err != nil {
				t.Errorf("%s after %v: %t, %v", name, code, exists, err)
			}
			err := n.run(func(files *winfs.FS) error { _, err := files.Stat(n.path(pods + `\` + name)); return err })
			if (err == nil) != walks {
				t.Errorf("%s after %v: %v", name, code, err)
			}
		}
	}
}
