// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

const (
	share        = caller.Share
	otherShare   = caller.OtherShare
	newPassword  = "n3w: pässword"
	stagedShare  = `\var\lib\kubelet\plugins\kubernetes.io\csi\smb.csi.k8s.io\abc\globalmount`
	stagedParent = `\var\lib\kubelet\plugins\kubernetes.io\csi\smb.csi.k8s.io\abc`
)

// shareFile returns the path of a share's file on its server.
func shareFile(n *caller.Node, share string, names ...string) string {
	return filepath.Join(append([]string{n.StateDir, "shares", "fs.emulated", share}, names...)...)
}

func startMapped(t *testing.T) *caller.Node {
	t.Helper()
	n := caller.Start(t, testnode.Options{})
	n.OK(n.Mkdir(stagedParent))
	n.OK(n.Map(share, stagedShare))
	return n
}

func TestSMBMapping(t *testing.T) {
	n := startMapped(t)
	n.Mapped(share)
	n.WriteFile(stagedShare+`\data`, "precious")
	if content, err := os.ReadFile(shareFile(n, "share", "data")); err != nil || string(content) != "precious" {
		t.Errorf("the server has %q, %v", content, err)
	}
	if !n.IsLink(stagedShare) {
		t.Error("the link is not one")
	}
	n.Called()
	n.OK(n.Map(share, stagedShare)) // once more
	n.OK(n.Map(`\\FS.Emulated\SHARE\`, stagedShare+`\`))
	n.OK(n.Map("//fs.emulated/share", ""))
	n.OK(n.Map(share+`\sub\dir`, stagedParent+`\sub`)) // shares the mapping
	// A mapping is never removed from under pods that use it: not by a call with a wrong password, nor by one with none.
	for _, as := range [][2]string{{caller.User, "wrong"}, {"nobody", "wrong"}, {"", ""},
		{`EMULATED\csi`, caller.Password}} {
		n.OK(n.NewSmbGlobalMapping(share, stagedShare, as[0], as[1]))
	}
	if made := n.Called("CreateSMBGlobalMapping"); len(made) > 0 {
		t.Errorf("a mapping that works was made again: %q", made)
	}
	n.Mapped(share)
	n.OK(n.RemoveSmbGlobalMapping(share + `\whatever`))
	n.Mapped()
	if !n.Exists(stagedShare) || n.IsLink(stagedShare) {
		t.Error("the link has gone with the mapping, or is not dangling")
	}
}

// A share has one name for the node and for the policy, however many separators of both kinds a driver writes.
func TestSMBSpellings(t *testing.T) {
	p, err := policy.Parse("policy", []byte("apiVersion: "+policy.APIVersion+"\nkind: Policy\nrules: [{name: a, "+
		`clients: [{any: true}], methods: [filesystem, smb], directories: ['C:\var\lib\kubelet'], `+
		`smbServers: [fs.emulated]}]`))
	caller.OK(t, err)
	n := caller.Start(t, testnode.Options{Policy: p})
	for _, spelling := range []string{
		share, `\fs.emulated\share`, `fs.emulated\share`, "/fs.emulated/share", "//fs.emulated/share",
		`\\\fs.emulated\\/share//`, `/\FS.emulated\share\\sub`,
	} {
		n.OK(n.Map(spelling, podsPath+`\link`))
		n.Mapped(share)
		if target, err := n.Emulated.Readlink(podsPath + `\link`); err != nil ||
			!strings.HasPrefix(strings.ToLower(target), share+`\`) {
			t.Errorf("link to %s: got %q, %v", spelling, target, err)
		}
		n.OK(n.RemoveSmbGlobalMapping(spelling))
		n.Mapped()
		n.OK(n.Rmdir(podsPath+`\link`, true))
	}
	for _, other := range []string{
		`\other\fs.emulated`, `other\\fs.emulated\share`, `/\other/fs.emulated`, `\\\other\\fs.emulated\share`,
	} {
		n.Code(n.Map(other, ""), codes.PermissionDenied)
		n.Code(n.RemoveSmbGlobalMapping(other), codes.PermissionDenied)
	}
}

func TestRule18LinkTargetIsPlain(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	for remote, want := range map[string]string{
		share:                     `\\fs.emulated\share\`,
		"//fs.emulated/share/a/b": `\\fs.emulated\share\a\b\`,
		share + `\C\`:             `\\fs.emulated\share\C\`,
	} {
		n.OK(n.Map(remote, podsPath+`\link`))
		target, err := n.Emulated.Readlink(podsPath + `\link`)
		if err != nil || target != want {
			t.Errorf("link to %s: got %q, %v, want %q", remote, target, err, want)
		}
		// The SMB driver takes the link's first two components as the key of the mapping.
		parts := strings.SplitN(strings.TrimPrefix(target, `\\`), `\`, 3)
		n.OK(n.RemoveSmbGlobalMapping(`\\` + parts[0] + `\` + parts[1]))
		n.Mapped()
		n.OK(n.Rmdir(podsPath+`\link`, true))
	}
}

func TestSMBRotation(t *testing.T) {
	n := startMapped(t)
	n.OK(n.Map(otherShare, ""))
	n.WriteFile(stagedShare+`\data`, "x")
	n.SetSMBPassword("csi", newPassword)
	if n.IsLink(stagedShare) {
		t.Error("the share answers sessions with the old password")
	}
	n.Code(n.Map(share, stagedShare), codes.Unauthenticated)
	n.OK(n.NewSmbGlobalMapping(share, stagedShare, caller.User, newPassword))
	n.Holds(stagedShare+`\data`, "x")
	n.OK(n.NewSmbGlobalMapping(otherShare, "", caller.User, newPassword)) // and the next share
	n.Mapped(otherShare, share)
}

// Another program maps the share between the agent's query and its call.
func TestSMBMappedByAnother(t *testing.T) {
	for _, code := range []win32.Errno{win32.ERROR_ALREADY_ASSIGNED, win32.ERROR_SESSION_CREDENTIAL_CONFLICT,
		win32.ERROR_GEN_FAILURE} {
		n := caller.Start(t, testnode.Options{})
		n.Faults.Add(testnode.Fault{Function: "CreateSMBGlobalMapping", Times: 1, Error: code, After: true})
		n.OK(n.Map(share, podsPath+`\link`))
		n.Mapped(share)
	}
	n := caller.Start(t, testnode.Options{})
	n.Faults.Add(testnode.Fault{Function: "CreateSMBGlobalMapping", Error: win32.ERROR_SESSION_CREDENTIAL_CONFLICT})
	n.Code(n.Map(share, ""), codes.FailedPrecondition)
	n = caller.Start(t, testnode.Options{})
	n.Faults.Add(testnode.Fault{Function: "CreateSMBGlobalMapping", Error: win32.ERROR_GEN_FAILURE})
	n.Code(n.Map(share, ""), codes.Internal)
}

func TestSMBServerAway(t *testing.T) {
	n := startMapped(t)
	n.WriteFile(stagedShare+`\data`, "x")
	n.StopSMBServer("FS.emulated")
	n.Code(n.Map(share, stagedShare), codes.Unavailable)
	n.Code(n.Map(otherShare, ""), codes.Unavailable)
	if n.IsLink(stagedShare) || !n.Exists(stagedShare) {
		t.Error("the link has gone, or leads somewhere")
	}
	n.Mapped(share) // pods that wait for the server keep the mapping
	n.StartSMBServer("fs.emulated")
	n.Holds(stagedShare+`\data`, "x")

	n.StopSMBServer("fs.emulated")
	n.OK(n.RemoveSmbGlobalMapping(share)) // does not ask the server
	n.OK(n.Rmdir(stagedShare, true))
	n.Mapped()
}

// After a reboot mappings are gone, or they are there without their credentials: the next stage repairs both.
func TestSMBReboot(t *testing.T) {
	for stay, left := range map[bool][]string{false: nil, true: {otherShare, share}} {
		t.Run(fmt.Sprintf("mappings stay=%t", stay), func(t *testing.T) {
			n := startMapped(t)
			n.SetSwitch("mappingsOutliveReboot", strconv.FormatBool(stay))
			n.OK(n.Map(otherShare, ""))
			n.WriteFile(stagedShare+`\data`, "x")
			n.Reboot()
			n.Mapped(left...)
			if !n.Exists(stagedShare) || n.IsLink(stagedShare) {
				t.Error("the link does not dangle after a reboot")
			}
			n.OK(n.Map(share, stagedShare))
			n.Holds(stagedShare+`\data`, "x")
			n.OK(n.Map(otherShare, ""))
			n.Mapped(otherShare, share)
			n.Called()
			n.OK(n.Map(share, stagedShare))
			if removed := n.Called("RemoveSMBGlobalMapping"); len(removed) > 0 {
				t.Errorf("a repaired mapping is repaired again: %q", removed)
			}
		})
	}
}

// A server that is away when the node is up again does not cost it the mapping.
func TestSMBRebootWithoutServer(t *testing.T) {
	n := startMapped(t)
	n.Reboot()
	n.StopSMBServer("fs.emulated")
	n.Code(n.Map(share, stagedShare), codes.Unavailable)
	n.Mapped(share)
	n.StartSMBServer("fs.emulated")
	n.OK(n.Map(share, stagedShare))
	if !n.IsLink(stagedShare) {
		t.Error("the share does not come back")
	}
}

// The root of a share denies access while its folders work. It is staged without a word about the root, and stays
// mapped.
func TestSMBClosedRoot(t *testing.T) {
	n := caller.Scenario(t, func(s *scenario.Scenario) {
		s.SMBServers[0].Shares = []smb.Share{{Name: "share", ClosedRoot: true}}
		s.SMBUsers = append(s.SMBUsers, smb.User{Name: "second", Password: caller.Password})
	})
	n.OK(os.MkdirAll(shareFile(n, "share", "pvc-1", "dir"), 0o755))
	n.OK(n.Mkdir(stagedParent))
	for _, c := range []struct {
		name, remote, link, user string
		made                     int // how often the mapping is made
	}{
		{"the first time", share + `\pvc-1`, stagedShare, caller.User, 1},
		{"again", share + `\pvc-1`, stagedShare, caller.User, 0},
		{"by another account, for a folder that answers", share + `\pvc-1`, stagedShare, "second", 0},
		{"for a folder that does not exist", share + `\pvc-9`, "", "second", 0},
		{"the whole share, by the same account", share, "", caller.User, 0},
		{"the whole share, by another account", share, "", "second", 1},
		{"the whole share, by that account again", share, "", "second", 0},
	} {
		n.Called()
		n.OK(n.NewSmbGlobalMapping(c.remote, c.link, c.user, caller.Password))
		if made := n.Called("CreateSMBGlobalMapping"); len(made) != c.made {
			t.Errorf("%s: mapped %d times, want %d", c.name, len(made), c.made)
		}
	}
	if !n.IsLink(stagedShare) || !n.Exists(stagedShare+`\dir`) || n.Exists(stagedShare+`\none`) {
		t.Error("the folder is not found behind the closed root")
	}
	// A link that a workload puts in the folder's place is not followed.
	n.OK(n.Emulated.RemoveSMBGlobalMapping(share))
	n.OK(os.Rename(shareFile(n, "share", "pvc-1"), shareFile(n, "share", "moved")))
	n.OK(os.Symlink("moved", shareFile(n, "share", "pvc-1")))
	n.OK(n.Map(share, ""))
	if n.IsLink(stagedShare) {
		t.Error("a link on the share was followed")
	}
	n.OK(os.RemoveAll(shareFile(n, "share", "pvc-1"))) // Wine has no links: nothing is there
	h, err := n.Emulated.OpenFile(nil, `\\?\UNC`+share[1:]+`\pvc-1`, kernel.OpenOptions{
		Access: win32.FILE_WRITE_ATTRIBUTES, Share: win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE,
		Disposition: win32.FILE_CREATE, Options: win32.FILE_DIRECTORY_FILE | win32.FILE_OPEN_REPARSE_POINT,
	})
	n.OK(err)
	point := win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_SYMLINK, SubstituteName: "moved",
		PrintName: "moved", Relative: true}
	_, err = h.DeviceIoControl(win32.FSCTL_SET_REPARSE_POINT, point.Bytes(), nil)
	n.OK(errors.Join(err, h.Close()))
	_, err = n.PathExists(stagedShare + `\dir`)
	n.Refused(err, codes.FailedPrecondition, "LINK_REFUSED")
}

// A mapping whose credentials do not work is removed before it is made again, or Windows would refuse.
func TestSMBBrokenMappingIsMadeAgain(t *testing.T) {
	for _, code := range []win32.Errno{
		win32.ERROR_ACCESS_DENIED, win32.ERROR_NETWORK_ACCESS_DENIED, win32.ERROR_LOGON_FAILURE, win32.ERROR_INVALID_PASSWORD,
		win32.ERROR_NO_SUCH_LOGON_SESSION, win32.ERROR_ACCOUNT_DISABLED, win32.ERROR_PASSWORD_EXPIRED,
		win32.ERROR_SESSION_CREDENTIAL_CONFLICT,
	} {
		n := startMapped(t)
		n.OK(n.Emulated.AddSMBUser(smb.User{Name: "second", Password: caller.Password}))
		n.Once("OpenFile", code) // of the share
		n.Called()
		n.OK(n.NewSmbGlobalMapping(share, "", "second", caller.Password))
		if got := n.Called("RemoveSMBGlobalMapping", "CreateSMBGlobalMapping"); len(got) != 2 ||
			!strings.HasPrefix(got[0], "Remove") {
			t.Errorf("%v: got the calls %q", code, got)
		}
	}
	// A mapping that fails for any other reason is kept, whatever Windows calls its state.
	for code, want := range map[win32.Errno]codes.Code{
		win32.ERROR_BAD_NETPATH: codes.Unavailable, win32.ERROR_NETNAME_DELETED: codes.Unavailable,
		win32.ERROR_SEM_TIMEOUT:         codes.Unavailable,
		win32.ERROR_NO_SYSTEM_RESOURCES: codes.Unavailable, win32.ERROR_DEV_NOT_EXIST: codes.Unavailable,
		win32.ERROR_BAD_NET_NAME: codes.NotFound,
	} {
		n := startMapped(t)
		for range 2 {
			n.Once("OpenFile", code)
			n.Code(n.Map(share, ""), want)
			n.Mapped(share)
			n.DropSMBSessions("fs.emulated")
		}
	}
}

// Paths may lead through a link to a mapped share, and no further.
func TestSMBPathsThroughTheLink(t *testing.T) {
	n := startMapped(t)
	n.OK(n.Mkdir(stagedShare + `\sub\dir`))
	if _, err := os.Stat(shareFile(n, "share", "sub", "dir")); err != nil {
		t.Error("the directory is not on the share")
	}
	if !n.Exists(stagedShare + `\SUB\dir`) {
		t.Error("what is on the share is not found")
	}
	// A link on the share, where workloads write, is not followed.
	n.OK(n.Mkdir(podsPath + `\victim`))
	n.OK(n.CreateSymlink(podsPath+`\victim`, stagedShare+`\evil`))
	n.Code(n.Mkdir(stagedShare+`\evil\made`), codes.FailedPrecondition)
	if n.Exists(podsPath + `\victim\made`) {
		t.Error("a link on the share was followed")
	}
	n.OK(n.Rmdir(stagedShare+`\evil`, true))
	n.OK(n.Rmdir(stagedShare+`\sub`, true))
	// A call through the link does not make the folder that the link leads to.
	n.OK(os.Mkdir(shareFile(n, "share", "folder"), 0o755))
	n.OK(n.Map(share+`\folder`, stagedParent+`\folder`))
	n.OK(os.Remove(shareFile(n, "share", "folder")))
	n.Code(n.Mkdir(stagedParent+`\folder\made\deeper`), codes.NotFound)
	if _, err := os.Stat(shareFile(n, "share", "folder")); err == nil {
		t.Error("the link's own target was made")
	}
	n.OK(n.Rmdir(stagedParent+`\folder`, true))
	// Volumes are not mounted on shares.
	id := n.Formatted(1)
	n.OK(n.Mkdir(stagedShare + `\mount`))
	n.Code(n.MountVolume(id, stagedShare+`\mount`), codes.FailedPrecondition)
	for _, path := range []string{stagedShare, stagedShare + `\mount`} {
		_, err := n.GetClosestVolumeIDFromTargetPath(path)
		n.Code(err, codes.FailedPrecondition)
	}
	_, err := n.GetVolumeIDFromTargetPath(stagedShare)
	n.Code(err, codes.FailedPrecondition)

	// Once the share is not mapped any more, its server is not asked on the agent's behalf.
	n.OK(n.RemoveSmbGlobalMapping(share))
	n.Called()
	_, err = n.PathExists(stagedShare + `\sub`)
	n.Code(err, codes.FailedPrecondition)
	n.IsLink(stagedShare)
	for _, c := range n.Faults.Calls() {
		if strings.Contains(c.Object, "UNC") {
			t.Errorf("a share that is not mapped was asked: %+v", c)
		}
	}
}

// Links to links to shares, as kubelet and drivers make of a staged share.
func TestSMBPublishLink(t *testing.T) {
	n := startMapped(t)
	n.OK(n.Mkdir(publish[:strings.LastIndex(publish, `\`)]))
	for _, link := range [][2]string{{stagedShare, publish}, {publish, podsPath + `\third`}} {
		n.OK(n.CreateSymlink(link[0], link[1]))
		if !n.IsLink(link[1]) {
			t.Errorf("%s is no link", link[1])
		}
	}
	n.WriteFile(publish+`\data`, "x")
	if n.ReadFile(podsPath+`\third\data`) != "x" {
		t.Error("the links lead elsewhere")
	}
	n.StopSMBServer("fs.emulated")
	if n.IsLink(publish) || n.IsLink(podsPath+`\third`) {
		t.Error("a share whose server is away counts as mounted")
	}
}
