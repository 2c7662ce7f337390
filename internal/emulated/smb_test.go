// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
)

const emulatedShare = `\\fs.emulated\share`

// smbNode opens a node with one more account.
func smbNode(t *testing.T) *Node {
	t.Helper()
	s := scenario.Default()
	s.SMBUsers = append(s.SMBUsers, smb.User{Name: "admin", Password: "admin-password"})
	return openNode(t, t.TempDir(), Options{Scenario: &s})
}

func openShare(n *Node, path string) (kernel.Handle, error) {
	return n.OpenFile(nil, `\\?\UNC`+path[1:], how(win32.FILE_LIST_DIRECTORY|win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN,
		win32.FILE_DIRECTORY_FILE))
}

func shareCode(n *Node, path string) error {
	h, err := openShare(n, path)
	if err == nil {
		_ = h.Close()
	}
	return err
}

// A session gives full access while server, account and mapping stay as they were, and none otherwise.
func TestSessions(t *testing.T) {
	n := smbNode(t)
	wantCode(t, "not mapped", shareCode(n, emulatedShare), win32.ERROR_LOGON_FAILURE)
	wantCode(t, "no such server", shareCode(n, `\\none\share`), win32.ERROR_BAD_NETPATH)
	wantCode(t, "no share", shareCode(n, `\\fs.emulated`), win32.ERROR_BAD_NET_NAME)
	// A server's own name is a domain, too.
	mapIt := func() error { return mapShare(n, emulatedShare, `FS.emulated\CSI`, "csi-password") }
	must(t, mapIt())
	wantCode(t, "mapped", shareCode(n, `\\FS.EMULATED\SHARE\`), 0)
	wantCode(t, "the other share", shareCode(n, `\\fs.emulated\other`), win32.ERROR_LOGON_FAILURE)

	for _, c := range []struct {
		name      string
		end, back func() error
		gone      win32.Errno
		status    uint32
	}{
		{
			"password", func() error { return n.SetSMBPassword(`EMULATED\csi`, "new") },
			func() error { return n.SetSMBPassword("csi", "csi-password") },
			win32.ERROR_LOGON_FAILURE, win32.SMB_MAPPING_OK,
		},
		{
			"server", func() error { return n.SetSMBServerRunning("fs.emulated", false) },
			func() error { return n.SetSMBServerRunning("FS.emulated", true) },
			win32.ERROR_BAD_NETPATH, win32.SMB_MAPPING_DISCONNECTED,
		},
		{
			"session, which wakes by use", func() error { return n.DropSMBSessions("FS.emulated") },
			func() error { return nil },
			0, win32.SMB_MAPPING_OK,
		},
		{
			"mapping", func() error { return n.RemoveSMBGlobalMapping(`\\FS.emulated\share`) },
			mapIt,
			win32.ERROR_LOGON_FAILURE, 99,
		},
	} {
		h, err := openShare(n, emulatedShare)
		must(t, err)
		must(t, c.end())
		wantCode(t, c.name+": what was open", h.Information(win32.FileStandardInfo, make([]byte, 24)),
			win32.ERROR_NETNAME_DELETED)
		wantCode(t, c.name+": opening", shareCode(n, emulatedShare), c.gone)
		for _, m := range smbMappings(t, n) {
			if m.Status != c.status {
				t.Errorf("%s: status %d, want %d", c.name, m.Status, c.status)
			}
		}
		must(t, c.back())
		wantCode(t, c.name+": afterwards", shareCode(n, emulatedShare), 0)
		wantCode(t, c.name+": what was open", h.Information(win32.FileStandardInfo, make([]byte, 24)),
			win32.ERROR_NETNAME_DELETED)
		must(t, h.Close())
	}
	wantCode(t, "no such mapping", n.RemoveSMBGlobalMapping(`\\fs.emulated\other`), win32.ERROR_NOT_CONNECTED)
	for _, err := range []error{n.SetSMBPassword("nobody", "x"), n.SetSMBServerRunning("none", true)} {
		if !errors.Is(err, smb.ErrNoSuch) {
			t.Errorf("got %v, want %v", err, smb.ErrNoSuch)
		}
	}
}

func smbMappings(t *testing.T, n *Node) []kernel.SMBGlobalMapping {
	t.Helper()
	mappings, err := n.SMBGlobalMappings()
	must(t, err)
	return mappings
}

func TestSMBStateSurvives(t *testing.T) {
	dir := t.TempDir()
	n := openNode(t, dir, Options{})
	must(t, n.SetSMBPassword("csi", "changed"))
	must(t, mapShare(n, emulatedShare, "csi", "changed"))
	must(t, n.Close())
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil || strings.Contains(string(text), "changed") || strings.Contains(string(text), "csi-password") {
		t.Errorf("node.json contains a password, or cannot be read: %v", err)
	}
	n = openNode(t, dir, Options{}) // as after the death of the process
	wantCode(t, "the mapping after a new start", shareCode(n, emulatedShare), 0)
	// After a reboot the mapping is there without its credentials, or gone.
	must(t, n.Reboot())
	if mappings := smbMappings(t, n); len(mappings) != 1 || mappings[0].Status != win32.SMB_MAPPING_DISCONNECTED {
		t.Errorf("mappings after a reboot: %v", mappings)
	}
	wantCode(t, "the mapping without its credentials", shareCode(n, emulatedShare), win32.ERROR_ACCESS_DENIED)
	wantCode(t, "mapping over it", mapShare(n, emulatedShare, "csi", "changed"),
		win32.ERROR_SESSION_CREDENTIAL_CONFLICT)
	must(t, n.RemoveSMBGlobalMapping(emulatedShare))
	must(t, mapShare(n, emulatedShare, "csi", "changed"))
	wantCode(t, "the mapping made again", shareCode(n, emulatedShare), 0)
	must(t, n.SetSwitch("mappingsOutliveReboot", "false"))
	must(t, n.Reboot())
	if mappings := smbMappings(t, n); len(mappings) != 0 {
		t.Errorf("mappings after a reboot: %v", mappings)
	}
	if n.SMBContactsWithoutMapping() != 0 {
		t.Error("the file server met the node without a mapping")
	}
	wantCode(t, "without a mapping", shareCode(n, emulatedShare), win32.ERROR_LOGON_FAILURE)
	if n.SMBContactsWithoutMapping() != 1 {
		t.Error("the file server did not count")
	}
	wantCode(t, "the old password", mapShare(n, emulatedShare, "csi", "csi-password"),
		win32.ERROR_INVALID_PASSWORD)
}

func TestFilesOnShares(t *testing.T) {
	n := smbNode(t)
	must(t, mapShare(n, emulatedShare, "csi", "csi-password"))
	root, err := openShare(n, emulatedShare+`\`)
	must(t, err)
	defer root.Close()
	dir, err := n.OpenFile(root, "Dir", how(anyRight, win32.FILE_CREATE, win32.FILE_DIRECTORY_FILE))
	must(t, err)
	defer dir.Close()
	if _, err := os.Stat(filepath.Join(n.dir, "shares", "fs.emulated", "share", "Dir")); err != nil {
		t.Error(err)
	}
	if final, err := dir.FinalPath(win32.VOLUME_NAME_DOS); err != nil || final != `\\?\UNC\fs.emulated\share\Dir` {
		t.Errorf("final path: %q, %v", final, err)
	}
	_, err = dir.FinalPath(win32.VOLUME_NAME_GUID)
	wantCode(t, "final path with a volume", err, win32.ERROR_PATH_NOT_FOUND)
	// Volumes cannot be mounted on shares; links there are not followed.
	volumes, err := n.VolumeNames()
	must(t, err)
	wantCode(t, "mounting", n.SetVolumeMountPoint(`\\?\UNC\fs.emulated\share\Dir\`, volumes[0]),
		win32.ERROR_INVALID_PARAMETER)
	control(t, dir, win32.FSCTL_SET_REPARSE_POINT, reparse.Symlink(`C:\Windows`).Bytes())
	wantCode(t, "a link on the share", shareCode(n, emulatedShare+`\Dir`), win32.ERROR_SYMLINK_CLASS_DISABLED)
	wantCode(t, "below it", shareCode(n, emulatedShare+`\Dir\System32`), win32.ERROR_SYMLINK_CLASS_DISABLED)
	wantCode(t, "deleting it", erase(dir), 0)
	wantCode(t, "afterwards", shareCode(n, emulatedShare+`\Dir`), win32.ERROR_FILE_NOT_FOUND)

	path, err := n.HostPath(`\\fs.emulated\SHARE\new`)
	if want := filepath.Join(n.dir, "shares", "fs.emulated", "share", "new"); err != nil || path != want {
		t.Errorf("host path: %q, %v, want %q", path, err, want)
	}
}
