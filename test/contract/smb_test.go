// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	fs "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// The shares and the account of the default node.
const (
	share        = `\\fs.emulated\share`
	otherShare   = `\\fs.emulated\other`
	smbUser      = `AZURE\csi`
	smbPassword  = "csi-password"
	newPassword  = "n3w: pässword"
	stagedShare  = `\var\lib\kubelet\plugins\kubernetes.io\csi\smb.csi.k8s.io\abc\globalmount`
	stagedParent = `\var\lib\kubelet\plugins\kubernetes.io\csi\smb.csi.k8s.io\abc`
)

func mapShare(t *testing.T, n *testnode.Node, remote, local, user, password string) error {
	t.Helper()
	_, err := n.SMB.NewSmbGlobalMapping(t.Context(), &smb.NewSmbGlobalMappingRequest{
		RemotePath: remote, LocalPath: local, Username: user, Password: password,
	})
	return err
}

func unmapShare(t *testing.T, n *testnode.Node, remote string) error {
	t.Helper()
	_, err := n.SMB.RemoveSmbGlobalMapping(t.Context(), &smb.RemoveSmbGlobalMappingRequest{RemotePath: remote})
	return err
}

// mapped returns the mapped shares, in order.
func mapped(t *testing.T, n *testnode.Node) string {
	t.Helper()
	mappings, err := n.Emulated.SMBGlobalMappings()
	noError(t, err)
	var paths []string
	for _, m := range mappings {
		paths = append(paths, m.RemotePath)
	}
	slices.Sort(paths)
	return strings.Join(paths, " ")
}

func wantMapped(t *testing.T, n *testnode.Node, shares ...string) {
	t.Helper()
	if got, want := mapped(t, n), strings.Join(shares, " "); got != want {
		t.Errorf("mapped: got %q, want %q", got, want)
	}
}

// called reports whether a kernel function was called since the last time.
func called(n *testnode.Node, function string) bool {
	for _, c := range n.Faults.Calls() {
		if c.Function == function {
			return true
		}
	}
	return false
}

// shareFile returns the path of a share's file on its server.
func shareFile(n *testnode.Node, share string, names ...string) string {
	return filepath.Join(append([]string{n.StateDir, "shares", "fs.emulated", share}, names...)...)
}

func startMapped(t *testing.T) *testnode.Node {
	t.Helper()
	n := testnode.Start(t, testnode.Options{})
	mkdir(t, n, stagedParent)
	noError(t, mapShare(t, n, share, stagedShare, smbUser, smbPassword))
	return n
}

func TestSMBMapping(t *testing.T) {
	n := startMapped(t)
	wantMapped(t, n, share)
	n.WriteFile(stagedShare+`\data`, "precious")
	if content, err := os.ReadFile(shareFile(n, "share", "data")); err != nil || string(content) != "precious" {
		t.Errorf("the server has %q, %v", content, err)
	}
	if !isSymlink(t, n, stagedShare) {
		t.Error("the link is not one")
	}
	n.Faults.Calls()
	noError(t, mapShare(t, n, share, stagedShare, smbUser, smbPassword)) // once more
	noError(t, mapShare(t, n, `\\FS.Emulated\SHARE\`, stagedShare+`\`, smbUser, smbPassword))
	noError(t, mapShare(t, n, "//fs.emulated/share", "", smbUser, smbPassword))
	noError(t, mapShare(t, n, share+`\sub\dir`, stagedParent+`\sub`, smbUser, smbPassword)) // shares the mapping
	if called(n, "CreateSMBGlobalMapping") {
		t.Error("a mapping that works was made again")
	}
	wantMapped(t, n, share)
	noError(t, unmapShare(t, n, share+`\whatever`))
	wantMapped(t, n)
	if !exists(t, n, stagedShare) || isSymlink(t, n, stagedShare) {
		t.Error("the link has gone with the mapping, or is not dangling")
	}
}

// A share has one name for the node and for the policy, however many separators of both kinds a driver writes.
func TestSMBSpellings(t *testing.T) {
	p, err := policy.Parse("policy", []byte("apiVersion: "+policy.APIVersion+`
kind: Policy
rules:
- name: a
  clients: [{any: true}]
  methods: [filesystem, smb]
  directories: ['C:\var\lib\kubelet']
  smbServers: [fs.emulated]
`))
	noError(t, err)
	n := testnode.Start(t, testnode.Options{Policy: p})
	for _, spelling := range []string{
		share, `\fs.emulated\share`, `fs.emulated\share`, "/fs.emulated/share", "//fs.emulated/share",
		`\\\fs.emulated\\/share//`, `/\FS.emulated\share\\sub`,
	} {
		noError(t, mapShare(t, n, spelling, podsPath+`\link`, smbUser, smbPassword))
		wantMapped(t, n, share)
		if target, err := n.Emulated.Readlink(podsPath + `\link`); err != nil ||
			!strings.HasPrefix(strings.ToLower(target), share+`\`) {
			t.Errorf("link to %s: got %q, %v", spelling, target, err)
		}
		noError(t, unmapShare(t, n, spelling))
		wantMapped(t, n)
		noError(t, rmdir(t, n, podsPath+`\link`, true))
	}
	for _, other := range []string{
		`\other\fs.emulated`, `other\\fs.emulated\share`, `/\other/fs.emulated`, `\\\other\\fs.emulated\share`,
	} {
		wantCode(t, mapShare(t, n, other, "", smbUser, smbPassword), codes.PermissionDenied)
		wantCode(t, unmapShare(t, n, other), codes.PermissionDenied)
	}
}

func TestRule18LinkTargetIsPlain(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	for remote, want := range map[string]string{
		share:                     `\\fs.emulated\share\`,
		"//fs.emulated/share/a/b": `\\fs.emulated\share\a\b\`,
		share + `\C\`:             `\\fs.emulated\share\C\`,
	} {
		noError(t, mapShare(t, n, remote, podsPath+`\link`, smbUser, smbPassword))
		target, err := n.Emulated.Readlink(podsPath + `\link`)
		if err != nil || target != want {
			t.Errorf("link to %s: got %q, %v, want %q", remote, target, err, want)
		}
		// The SMB driver takes the link's first two components as the key of the mapping.
		parts := strings.SplitN(strings.TrimPrefix(target, `\\`), `\`, 3)
		noError(t, unmapShare(t, n, `\\`+parts[0]+`\`+parts[1]))
		wantMapped(t, n)
		noError(t, rmdir(t, n, podsPath+`\link`, true))
	}
}

func TestSMBArguments(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	mkdir(t, n, podsPath+`\dir`)
	n.WriteFile(podsPath+`\file`, "")
	for _, c := range []struct {
		name, remote, local string
		user, password      string
		want                codes.Code
	}{
		{"no remote path", "", "", smbUser, smbPassword, codes.InvalidArgument},
		{"no share", `\\fs.emulated`, "", smbUser, smbPassword, codes.InvalidArgument},
		{"no share after a backslash", `\\fs.emulated\`, "", smbUser, smbPassword, codes.InvalidArgument},
		{"no server", `\\\share`, "", smbUser, smbPassword, codes.InvalidArgument},
		{"a local path", `C:\share`, "", smbUser, smbPassword, codes.InvalidArgument},
		{"verbatim", `\\?\UNC\fs.emulated\share`, "", smbUser, smbPassword, codes.InvalidArgument},
		{"a device", `\\.\PhysicalDrive0`, "", smbUser, smbPassword, codes.InvalidArgument},
		{"dots", share + `\..\other`, "", smbUser, smbPassword, codes.InvalidArgument},
		{"a pipe", `\\fs.emulated\pipe\csi-proxy-disk-v1`, "", smbUser, smbPassword, codes.InvalidArgument},
		{"the pipes' share", `\\fs.emulated\IPC$`, "", smbUser, smbPassword, codes.InvalidArgument},
		{"WebDAV", `\\fs.emulated@SSL\share`, "", smbUser, smbPassword, codes.InvalidArgument},
		{"WebDAV by the share", `\\fs.emulated\davwwwroot\dir`, "", smbUser, smbPassword, codes.InvalidArgument},
		{"another network provider", `\\;WebDavRedirector\fs.emulated\share`, "", smbUser, smbPassword,
			codes.InvalidArgument},
		{"the drive of a server", `\\fs.emulated\c$\Windows`, "", smbUser, smbPassword, codes.InvalidArgument},
		{"the Windows of a server", `\\fs.emulated\Admin$`, "", smbUser, smbPassword, codes.InvalidArgument},
		{"this machine", `\\LocalHost\share`, "", smbUser, smbPassword, codes.InvalidArgument},
		{"this machine by its address", `\\127.0.0.1\share`, "", smbUser, smbPassword, codes.InvalidArgument},
		{"this machine by a short address", `\\127.1\share`, "", smbUser, smbPassword, codes.InvalidArgument},
		{"this machine by a number", `\\0x7f000001\share`, "", smbUser, smbPassword, codes.InvalidArgument},
		{"this machine by its IPv6 address", `\\0--1.ipv6-literal.net\share`, "", smbUser, smbPassword,
			codes.InvalidArgument},
		{"a quotation mark", `\\fs.emulated\share' OR '1'='1\"`, "", smbUser, smbPassword, codes.InvalidArgument},
		{"a control character", share + "\\a\nb", "", smbUser, smbPassword, codes.InvalidArgument},
		{"a NUL", share + "\x00", "", smbUser, smbPassword, codes.InvalidArgument},
		{"a long path", share + strings.Repeat(`\a`, 600), "", smbUser, smbPassword, codes.InvalidArgument},
		{"unknown server", `\\nowhere\share`, "", smbUser, smbPassword, codes.Unavailable},
		{"unknown share", `\\fs.emulated\nothing`, "", smbUser, smbPassword, codes.NotFound},
		{"wrong password", share, "", smbUser, "not-the-password", codes.Unauthenticated},
		{"unknown user", share, "", "nobody", smbPassword, codes.Unauthenticated},
		{"unknown domain", share, "", `OTHER\csi`, smbPassword, codes.Unauthenticated},
		{"no user", share, "", "", smbPassword, codes.Unauthenticated},
		{"no password", share, "", smbUser, "", codes.Unauthenticated},
		{"a user with a line end", share, "", "csi\n", smbPassword, codes.InvalidArgument},
		{"a password with a NUL", share, "", smbUser, "a\x00b", codes.InvalidArgument},
		{"a long password", share, "", smbUser, strings.Repeat("x", 32<<10), codes.InvalidArgument},
		{"link outside", share, `C:\Windows\link`, smbUser, smbPassword, codes.InvalidArgument},
		{"link with slashes", share, `C:/var/lib/kubelet/pods/link`, smbUser, smbPassword, codes.InvalidArgument},
		{"link on a share", share, share + `\link`, smbUser, smbPassword, codes.InvalidArgument},
		{"link for a working directory", share, `C:\var\lib\kubelet`, smbUser, smbPassword, codes.FailedPrecondition},
		{"link for a directory", share, podsPath + `\dir`, smbUser, smbPassword, codes.AlreadyExists},
		{"link for a file", share, podsPath + `\file`, smbUser, smbPassword, codes.AlreadyExists},
		{"link without parent", share, podsPath + `\none\link`, smbUser, smbPassword, codes.NotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := mapShare(t, n, c.remote, c.local, c.user, c.password)
			wantCode(t, err, c.want)
			wantMapped(t, n)
			if strings.Contains(err.Error(), c.password) && len(c.password) > 1 {
				t.Errorf("the error contains the password: %v", err)
			}
			if c.local == podsPath+`\link` && exists(t, n, c.local) {
				t.Error("a link was made")
			}
			if strings.HasPrefix(c.name, "a ") && !strings.Contains(c.name, "user") && !strings.Contains(c.name, "password") {
				wantCode(t, unmapShare(t, n, c.remote), codes.InvalidArgument)
			}
		})
	}
	if err := mapShare(t, n, "", "", smbUser, smbPassword); !strings.Contains(err.Error(), "remote path is empty") {
		t.Errorf("the text that operators know is gone: %v", err)
	}
}

// A mapping is never removed from under pods that use it: not by a call with a wrong password, nor by one with none.
func TestSMBReuseNeedsNoCredentials(t *testing.T) {
	n := startMapped(t)
	for _, c := range [][2]string{{smbUser, "wrong"}, {"nobody", "wrong"}, {"", ""}, {"EMULATED\\csi", smbPassword}} {
		noError(t, mapShare(t, n, share, stagedShare, c[0], c[1]))
	}
	n.WriteFile(stagedShare+`\data`, "x")
}

func TestSMBRotation(t *testing.T) {
	n := startMapped(t)
	noError(t, mapShare(t, n, otherShare, "", smbUser, smbPassword))
	n.WriteFile(stagedShare+`\data`, "x")
	noError(t, n.Emulated.SetSMBPassword("csi", newPassword))
	if isSymlink(t, n, stagedShare) {
		t.Error("the share answers sessions with the old password")
	}
	wantCode(t, mapShare(t, n, share, stagedShare, smbUser, smbPassword), codes.Unauthenticated)
	noError(t, mapShare(t, n, share, stagedShare, smbUser, newPassword))
	if !isSymlink(t, n, stagedShare) || n.ReadFile(stagedShare+`\data`) != "x" {
		t.Error("the share does not answer")
	}
	noError(t, mapShare(t, n, otherShare, "", smbUser, newPassword)) // and the next share
	wantMapped(t, n, otherShare, share)
}

func TestSMBConflict(t *testing.T) {
	n := startMapped(t)
	err := mapShare(t, n, otherShare, podsPath+`\link`, "csi", smbPassword)
	wantCode(t, err, codes.FailedPrecondition)
	for _, name := range []string{"fs.emulated", share} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
	wantMapped(t, n, share)
	if !isSymlink(t, n, stagedShare) || exists(t, n, podsPath+`\link`) {
		t.Error("the other share's mapping suffered, or a link was made")
	}
}

// Another program maps the share between the agent's query and its call.
func TestSMBMappedByAnother(t *testing.T) {
	for _, code := range []win32.Errno{win32.ERROR_ALREADY_ASSIGNED, win32.ERROR_SESSION_CREDENTIAL_CONFLICT,
		win32.ERROR_GEN_FAILURE} {
		n := testnode.Start(t, testnode.Options{})
		n.Faults.Add(testnode.Fault{Function: "CreateSMBGlobalMapping", Times: 1, Error: code, After: true})
		noError(t, mapShare(t, n, share, podsPath+`\link`, smbUser, smbPassword))
		wantMapped(t, n, share)
	}
	n := testnode.Start(t, testnode.Options{})
	n.Faults.Add(testnode.Fault{Function: "CreateSMBGlobalMapping", Error: win32.ERROR_SESSION_CREDENTIAL_CONFLICT})
	wantCode(t, mapShare(t, n, share, "", smbUser, smbPassword), codes.FailedPrecondition)
	n = testnode.Start(t, testnode.Options{})
	n.Faults.Add(testnode.Fault{Function: "CreateSMBGlobalMapping", Error: win32.ERROR_GEN_FAILURE})
	wantCode(t, mapShare(t, n, share, "", smbUser, smbPassword), codes.Internal)
}

func TestSMBServerAway(t *testing.T) {
	n := startMapped(t)
	n.WriteFile(stagedShare+`\data`, "x")
	noError(t, n.Emulated.StopSMBServer("FS.emulated"))
	wantCode(t, mapShare(t, n, share, stagedShare, smbUser, smbPassword), codes.Unavailable)
	wantCode(t, mapShare(t, n, otherShare, "", smbUser, smbPassword), codes.Unavailable)
	if isSymlink(t, n, stagedShare) || !exists(t, n, stagedShare) {
		t.Error("the link has gone, or leads somewhere")
	}
	wantMapped(t, n, share) // pods that wait for the server keep the mapping
	noError(t, n.Emulated.StartSMBServer("fs.emulated"))
	if !isSymlink(t, n, stagedShare) || n.ReadFile(stagedShare+`\data`) != "x" {
		t.Error("the share does not come back with its server")
	}
	noError(t, mapShare(t, n, share, stagedShare, smbUser, "whatever"))

	noError(t, n.Emulated.StopSMBServer("fs.emulated"))
	noError(t, unmapShare(t, n, share)) // does not ask the server
	noError(t, rmdir(t, n, stagedShare, true))
	wantMapped(t, n)
}

// After a reboot mappings are gone, or they are there without their credentials: the next stage repairs both.
func TestSMBReboot(t *testing.T) {
	for stay, left := range map[bool][]string{false: nil, true: {otherShare, share}} {
		t.Run(fmt.Sprintf("mappings stay=%t", stay), func(t *testing.T) {
			n := startMapped(t)
			noError(t, n.Emulated.SetSwitch("mappingsOutliveReboot", strconv.FormatBool(stay)))
			noError(t, mapShare(t, n, otherShare, "", smbUser, smbPassword))
			n.WriteFile(stagedShare+`\data`, "x")
			n.Reboot()
			wantMapped(t, n, left...)
			if !exists(t, n, stagedShare) || isSymlink(t, n, stagedShare) {
				t.Error("the link does not dangle after a reboot")
			}
			noError(t, mapShare(t, n, share, stagedShare, smbUser, smbPassword))
			if !isSymlink(t, n, stagedShare) || n.ReadFile(stagedShare+`\data`) != "x" {
				t.Error("the data is gone")
			}
			noError(t, mapShare(t, n, otherShare, "", smbUser, smbPassword))
			wantMapped(t, n, otherShare, share)
			n.Faults.Calls()
			noError(t, mapShare(t, n, share, stagedShare, smbUser, smbPassword))
			if called(n, "RemoveSMBGlobalMapping") {
				t.Error("a repaired mapping is repaired again")
			}
		})
	}
}

// A server that is away when the node is up again does not cost it the mapping.
func TestSMBRebootWithoutServer(t *testing.T) {
	n := startMapped(t)
	n.Reboot()
	noError(t, n.Emulated.StopSMBServer("fs.emulated"))
	wantCode(t, mapShare(t, n, share, stagedShare, smbUser, smbPassword), codes.Unavailable)
	wantMapped(t, n, share)
	noError(t, n.Emulated.StartSMBServer("fs.emulated"))
	noError(t, mapShare(t, n, share, stagedShare, smbUser, smbPassword))
	if !isSymlink(t, n, stagedShare) {
		t.Error("the share does not come back")
	}
}

// The root of a share denies access while its folders work. It is staged without a word about the root, and stays
// mapped.
func TestSMBClosedRoot(t *testing.T) {
	s := emulated.DefaultScenario()
	s.SMBServers[0].Shares = []emulated.SMBShareSpec{{Name: "share", ClosedRoot: true}}
	s.SMBUsers = append(s.SMBUsers, emulated.SMBUserSpec{Name: "second", Password: smbPassword})
	n := testnode.Start(t, testnode.Options{Emulated: emulated.Options{Scenario: &s}})
	noError(t, os.MkdirAll(shareFile(n, "share", "pvc-1", "dir"), 0o755))
	mkdir(t, n, stagedParent)
	for _, c := range []struct {
		name, remote, link, user string
		made                     int // how often the mapping is made
	}{
		{"the first time", share + `\pvc-1`, stagedShare, smbUser, 1},
		{"again", share + `\pvc-1`, stagedShare, smbUser, 0},
		{"by another account, for a folder that answers", share + `\pvc-1`, stagedShare, "second", 0},
		{"for a folder that does not exist", share + `\pvc-9`, "", "second", 0},
		{"the whole share, by the same account", share, "", smbUser, 0},
		{"the whole share, by another account", share, "", "second", 1},
		{"the whole share, by that account again", share, "", "second", 0},
	} {
		n.Faults.Calls()
		noError(t, mapShare(t, n, c.remote, c.link, c.user, smbPassword))
		made := 0
		for _, call := range n.Faults.Calls() {
			if call.Function == "CreateSMBGlobalMapping" {
				made++
			}
		}
		if made != c.made {
			t.Errorf("%s: mapped %d times, want %d", c.name, made, c.made)
		}
	}
	if !isSymlink(t, n, stagedShare) || !exists(t, n, stagedShare+`\dir`) || exists(t, n, stagedShare+`\none`) {
		t.Error("the folder is not found behind the closed root")
	}
	// A link that a workload puts in the folder's place is not followed.
	noError(t, n.Emulated.RemoveSMBGlobalMapping(share))
	noError(t, os.Rename(shareFile(n, "share", "pvc-1"), shareFile(n, "share", "moved")))
	noError(t, os.Symlink("moved", shareFile(n, "share", "pvc-1")))
	noError(t, mapShare(t, n, share, "", smbUser, smbPassword))
	if isSymlink(t, n, stagedShare) {
		t.Error("a link on the share was followed")
	}
	noError(t, os.RemoveAll(shareFile(n, "share", "pvc-1"))) // Wine has no links: nothing is there
	h, err := n.Emulated.OpenFile(nil, `\\?\UNC`+share[1:]+`\pvc-1`, kernel.OpenOptions{
		Access: win32.FILE_WRITE_ATTRIBUTES, Share: win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE,
		Disposition: win32.FILE_CREATE, Options: win32.FILE_DIRECTORY_FILE | win32.FILE_OPEN_REPARSE_POINT,
	})
	noError(t, err)
	point := win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_SYMLINK, SubstituteName: "moved",
		PrintName: "moved", Relative: true}
	_, err = h.DeviceIoControl(win32.FSCTL_SET_REPARSE_POINT, point.Bytes(), nil)
	noError(t, errors.Join(err, h.Close()))
	_, err = n.Filesystem.PathExists(t.Context(), &fs.PathExistsRequest{Path: stagedShare + `\dir`})
	wantReason(t, err, codes.FailedPrecondition, "LINK_REFUSED")
}

func encrypting(encrypts bool) emulated.Options {
	s := emulated.DefaultScenario()
	s.SMBServers = []emulated.SMBServerSpec{{Name: "fs.emulated",
		Shares:       []emulated.SMBShareSpec{{Name: "share"}, {Name: "closed", Users: []string{"admin"}}},
		NoEncryption: !encrypts}}
	s.SMBUsers = append(s.SMBUsers, emulated.SMBUserSpec{Name: "admin", Password: "admin-password"})
	return emulated.Options{Scenario: &s}
}

// The flag -require-privacy reaches the mapping.
func TestSMBPrivacy(t *testing.T) {
	n := testnode.Start(t, testnode.Options{Emulated: encrypting(false)})
	err := mapShare(t, n, share, "", smbUser, smbPassword)
	wantCode(t, err, codes.FailedPrecondition)
	if !strings.Contains(err.Error(), "encrypt") || !strings.Contains(err.Error(), "-require-privacy") {
		t.Errorf("the error does not say what to do: %v", err)
	}
	wantMapped(t, n)
	n = testnode.Start(t, testnode.Options{Emulated: encrypting(false), PlainSMB: true})
	noError(t, mapShare(t, n, share, "", smbUser, smbPassword))
	n = testnode.Start(t, testnode.Options{Emulated: encrypting(true)})
	noError(t, mapShare(t, n, share, "", smbUser, smbPassword))
	wantCode(t, mapShare(t, n, `\\fs.emulated\closed`, "", smbUser, smbPassword), codes.PermissionDenied)
	wantMapped(t, n, share)
}

// A user's wrong secret, a server and a domain are not the agent's failures: no code that Microsoft's pages name for
// these calls is INTERNAL, and each has a reason and a text.
func TestSMBCodes(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	for want, list := range map[codes.Code][]win32.Errno{
		codes.Unavailable:        {51, 53, 54, 58, 59, 64, 70, 121, 240, 1203, 1208, 1222, 1225, 1231, 1232, 1265, 1311, 1355},
		codes.Unauthenticated:    {86, 1240, 1312, 1326, 1327, 1328, 1329, 1330, 1331, 1385, 1793, 1907, 1909, 2202, 2242},
		codes.FailedPrecondition: {52, 85, 384, 1219, 1272, 1396, 1397, 1398, 1787, 1789, 2138},
		codes.ResourceExhausted:  {8, 68, 71, 1450},
		codes.PermissionDenied:   {5, 65},
		codes.InvalidArgument:    {66, 87},
		codes.NotFound:           {67},
	} {
		for _, code := range list {
			n.Faults.Add(testnode.Fault{Function: "CreateSMBGlobalMapping", Times: 1, Error: code})
			err := mapShare(t, n, share, "", smbUser, smbPassword)
			wantCode(t, err, want)
			if text := err.Error(); code.Name() == "" || !strings.Contains(text, code.Error()) {
				t.Errorf("%d: the error does not name the code: %v", code, err)
			}
		}
	}
	// Whom the texts blame.
	for code, says := range map[win32.Errno]string{
		1311: "domain controller", 1312: "DisableDomainCreds", 1272: "guest", 384: "SMB 2", 1396: "alias", 1398: "clocks",
		71: "as many connections", 2138: "LanmanWorkstation", 53: "fs.emulated does not answer",
	} {
		n.Faults.Add(testnode.Fault{Function: "CreateSMBGlobalMapping", Times: 1, Error: code})
		if err := mapShare(t, n, share, "", smbUser, smbPassword); !strings.Contains(fmt.Sprint(err), says) {
			t.Errorf("%v: %v, want %q", code, err, says)
		}
	}
}

// The commonest mistake in a Kubernetes secret is named, and the secret is not.
func TestSMBPasswordWithALineEnd(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	err := mapShare(t, n, share, "", smbUser, smbPassword+"\n")
	wantCode(t, err, codes.Unauthenticated)
	if text := err.Error(); !strings.Contains(text, "line end") || strings.Contains(text, smbPassword) {
		t.Errorf("got %q", text)
	}
}

func TestSMBKernelFaults(t *testing.T) {
	for code, want := range map[win32.Errno]codes.Code{
		win32.ERROR_BAD_NETPATH: codes.Unavailable, win32.ERROR_NETNAME_DELETED: codes.Unavailable,
		win32.ERROR_NO_LOGON_SERVERS: codes.Unavailable,
		win32.ERROR_BAD_NET_NAME:     codes.NotFound, win32.ERROR_INVALID_PASSWORD: codes.Unauthenticated,
		win32.ERROR_LOGON_FAILURE:       codes.Unauthenticated,
		win32.ERROR_ACCOUNT_RESTRICTION: codes.Unauthenticated, win32.ERROR_ACCOUNT_LOCKED_OUT: codes.Unauthenticated,
		win32.ERROR_ACCESS_DENIED: codes.PermissionDenied, win32.ERROR_INVALID_PARAMETER: codes.InvalidArgument,
		win32.ERROR_GEN_FAILURE: codes.Internal,
	} {
		t.Run(code.Name(), func(t *testing.T) {
			n := testnode.Start(t, testnode.Options{})
			n.Faults.Add(testnode.Fault{Function: "CreateSMBGlobalMapping", Times: 1, Error: code})
			err := mapShare(t, n, share, podsPath+`\link`, smbUser, smbPassword)
			wantCode(t, err, want)
			if text := status.Convert(err).Message(); strings.Contains(text, "csi-password") ||
				strings.Contains(text, "AZURE") || !strings.Contains(text, share) {
				t.Errorf("the error tells credentials, or not the share: %s", text)
			}
			if exists(t, n, podsPath+`\link`) {
				t.Error("a link was made to a share that is not mapped")
			}
			noError(t, mapShare(t, n, share, podsPath+`\link`, smbUser, smbPassword))
		})
	}
	n := testnode.Start(t, testnode.Options{})
	n.Faults.Add(testnode.Fault{Function: "SMBGlobalMappings", Times: 1, Error: win32.ERROR_GEN_FAILURE})
	wantCode(t, mapShare(t, n, share, "", smbUser, smbPassword), codes.Internal)
	n.Faults.Add(testnode.Fault{Function: "CreateSMBGlobalMapping", Times: 1, Panic: true})
	wantCode(t, mapShare(t, n, share, "", smbUser, smbPassword), codes.Internal)
	noError(t, mapShare(t, n, share, "", smbUser, smbPassword))
	n.Faults.Add(testnode.Fault{Function: "RemoveSMBGlobalMapping", Times: 1, Error: win32.ERROR_OPEN_FILES})
	wantCode(t, unmapShare(t, n, share), codes.Unavailable)
	noError(t, unmapShare(t, n, share))
	wantMapped(t, n)
}

// A mapping whose credentials do not work is removed before it is made again, or Windows would refuse.
func TestSMBBrokenMappingIsMadeAgain(t *testing.T) {
	for _, code := range []win32.Errno{
		win32.ERROR_ACCESS_DENIED, win32.ERROR_NETWORK_ACCESS_DENIED, win32.ERROR_LOGON_FAILURE, win32.ERROR_INVALID_PASSWORD,
		win32.ERROR_NO_SUCH_LOGON_SESSION, win32.ERROR_ACCOUNT_DISABLED, win32.ERROR_PASSWORD_EXPIRED,
		win32.ERROR_SESSION_CREDENTIAL_CONFLICT,
	} {
		n := startMapped(t)
		noError(t, n.Emulated.AddSMBUser(emulated.SMBUserSpec{Name: "second", Password: smbPassword}))
		n.Faults.Add(testnode.Fault{Function: "OpenFile", Times: 1, Error: code}) // of the share
		n.Faults.Calls()
		noError(t, mapShare(t, n, share, "", "second", smbPassword))
		var got []string
		for _, c := range n.Faults.Calls() {
			got = append(got, c.Function)
		}
		want := []string{"SMBGlobalMappings", "OpenFile", "RemoveSMBGlobalMapping", "CreateSMBGlobalMapping"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", code, diff)
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
			n.Faults.Add(testnode.Fault{Function: "OpenFile", Times: 1, Error: code})
			wantCode(t, mapShare(t, n, share, "", smbUser, smbPassword), want)
			wantMapped(t, n, share)
			noError(t, n.Emulated.DropSMBSessions("fs.emulated"))
		}
	}
}

// Paths may lead through a link to a mapped share, and no further.
func TestSMBPathsThroughTheLink(t *testing.T) {
	n := startMapped(t)
	mkdir(t, n, stagedShare+`\sub\dir`)
	if _, err := os.Stat(shareFile(n, "share", "sub", "dir")); err != nil {
		t.Error("the directory is not on the share")
	}
	if !exists(t, n, stagedShare+`\SUB\dir`) {
		t.Error("what is on the share is not found")
	}
	// A link on the share, where workloads write, is not followed.
	mkdir(t, n, podsPath+`\victim`)
	_, err := n.Filesystem.CreateSymlink(t.Context(), &fs.CreateSymlinkRequest{SourcePath: podsPath + `\victim`,
		TargetPath: stagedShare + `\evil`})
	noError(t, err)
	_, err = n.Filesystem.Mkdir(t.Context(), &fs.MkdirRequest{Path: stagedShare + `\evil\made`})
	wantCode(t, err, codes.FailedPrecondition)
	if exists(t, n, podsPath+`\victim\made`) {
		t.Error("a link on the share was followed")
	}
	noError(t, rmdir(t, n, stagedShare+`\evil`, true))
	noError(t, rmdir(t, n, stagedShare+`\sub`, true))
	// A call through the link does not make the folder that the link leads to.
	noError(t, os.Mkdir(shareFile(n, "share", "folder"), 0o755))
	noError(t, mapShare(t, n, share+`\folder`, stagedParent+`\folder`, smbUser, smbPassword))
	noError(t, os.Remove(shareFile(n, "share", "folder")))
	_, err = n.Filesystem.Mkdir(t.Context(), &fs.MkdirRequest{Path: stagedParent + `\folder\made\deeper`})
	wantCode(t, err, codes.NotFound)
	if _, err := os.Stat(shareFile(n, "share", "folder")); err == nil {
		t.Error("the link's own target was made")
	}
	noError(t, rmdir(t, n, stagedParent+`\folder`, true))
	// Volumes are not mounted on shares.
	id := formatted(t, n, 1)
	mkdir(t, n, stagedShare+`\mount`)
	wantCode(t, mountVolume(t, n, id, stagedShare+`\mount`), codes.FailedPrecondition)
	for _, path := range []string{stagedShare, stagedShare + `\mount`} {
		wantCode(t, closest(t, n, path), codes.FailedPrecondition)
	}
	wantCode(t, volumeAt(t, n, stagedShare), codes.FailedPrecondition)

	// Once the share is not mapped any more, its server is not asked on the agent's behalf.
	noError(t, unmapShare(t, n, share))
	n.Faults.Calls()
	_, err = n.Filesystem.PathExists(t.Context(), &fs.PathExistsRequest{Path: stagedShare + `\sub`})
	wantCode(t, err, codes.FailedPrecondition)
	isSymlink(t, n, stagedShare)
	for _, c := range n.Faults.Calls() {
		if strings.Contains(c.Object, "UNC") {
			t.Errorf("a share that is not mapped was asked: %+v", c)
		}
	}
}

// Links to links to shares, as kubelet and drivers make of a staged share.
func TestSMBPublishLink(t *testing.T) {
	n := startMapped(t)
	mkdir(t, n, publish[:strings.LastIndex(publish, `\`)])
	for _, link := range [][2]string{{stagedShare, publish}, {publish, podsPath + `\third`}} {
		_, err := n.Filesystem.CreateSymlink(t.Context(), &fs.CreateSymlinkRequest{SourcePath: link[0], TargetPath: link[1]})
		noError(t, err)
		if !isSymlink(t, n, link[1]) {
			t.Errorf("%s is no link", link[1])
		}
	}
	n.WriteFile(publish+`\data`, "x")
	if n.ReadFile(podsPath+`\third\data`) != "x" {
		t.Error("the links lead elsewhere")
	}
	noError(t, n.Emulated.StopSMBServer("fs.emulated"))
	if isSymlink(t, n, publish) || isSymlink(t, n, podsPath+`\third`) {
		t.Error("a share whose server is away counts as mounted")
	}
}
