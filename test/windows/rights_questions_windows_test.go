// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
)

func rightsQuestions() []Question {
	return []Question{
		unasked(39, "Are SMB global mappings still there after a restart of Windows, and with which status?",
			"Windows would have to be restarted"),
		{41, "What do mappings with and without encryption come to, of a share that demands it and of one that does not?",
			askEncryption},
		{42, "Which steps of growing fail for a thread without SeManageVolumePrivilege and SeLoadDriverPrivilege?",
			askWithoutPrivileges},
		{43, "Are links that SYSTEM made, and that an administrator made, followed and refused alike?", askMakersOfLinks},
	}
}

func askEncryption(q *inquiry) {
	answers := note(q, map[string]string{})
	for kind, offer := range map[string]func(testing.TB) Share{"demands it": newEncryptedShare,
		"does not": newShare} {
		share := offer(q)
		for with, private := range map[string]bool{"with": true, "without": false} {
			name := with + " encryption, a share that " + kind
			err := q.mapShare(share, private)
			answers[name] = verdict(err)
			if err != nil {
				continue
			}
			answers[name+", opened"] = verdict(q.opens(nil, root(share)))
			q.check(q.Kernel.RemoveSMBGlobalMapping(share.Remote))
		}
	}
}

func askWithoutPrivileges(q *inquiry) {
	answers, d := note(q, map[string]string{}), q.attach()
	volume, p := q.ntfsVolume(d.Number())
	answers["grown"] = q.grow(d, 2*gib)
	token, err := UnprivilegedToken()
	q.check(err)
	defer func() { _ = token.Close() }()
	q.check(AsToken(token, func() {
		answers["CM_Reenumerate_DevNode"] = verdict(q.Kernel.ReenumerateDevices())
		h, err := q.Subject.openDisk(d.Number())
		answers["open the disk"] = verdict(err)
		if err != nil {
			return
		}
		defer h.Close()
		answers["IOCTL_DISK_UPDATE_DRIVE_SIZE"] = verdict(updateDriveSize(h))
		answers["IOCTL_DISK_GROW_PARTITION"] = verdict(growPartition(h, p))
		v, err := q.Kernel.OpenDevice(strings.TrimSuffix(volume, `\`), readWrite)
		answers["open the volume"] = verdict(err)
		if err != nil {
			return
		}
		defer v.Close()
		answers["FSCTL_EXTEND_VOLUME"] = verdict(send(v, win32.FSCTL_EXTEND_VOLUME, win32.ExtendVolume((p.Length+more)/512)))
	}))
}

func askMakersOfLinks(q *inquiry) {
	target, answers := machine.RandomName(), note(q, map[string]string{})
	q.check(q.makeDirectory(mountParent, target))
	n := q.agent()
	for _, made := range mklinks(q, mountParent+`\`+target) {
		if made.err != nil {
			answers[made.name] = made.err.Error()
			continue
		}
		h, err := q.Kernel.OpenFile(nil, `\\?\`+made.path, kernel.OpenOptions{Access: win32.FILE_READ_ATTRIBUTES,
			Share: shareAll, Disposition: win32.FILE_OPEN, Options: win32.FILE_DIRECTORY_FILE})
		if err == nil {
			_ = h.Close()
		}
		answers[made.name+", followed"] = verdict(err)
		answers[made.name+", walked by the agent"] = verdict(n.Mkdir(made.path + `\made`))
	}
}

// A madeLink is a link that Windows' own mklink made, or why it did not.
type madeLink struct {
	name, path string
	err        error
}

// mklinks makes links to a directory: symbolic links and junctions, as SYSTEM and, if that is another one, as this
// test's user.
// https://learn.microsoft.com/windows-server/administration/windows-commands/mklink
func mklinks(t testing.TB, target string) (links []madeLink) {
	t.Helper()
	makers := map[string]func(command ...string) error{
		"SYSTEM": func(command ...string) error { return AsSystem(t, command...) },
	}
	if !machine.RunsAsSystem() {
		makers["this user"] = func(command ...string) error {
			out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			return err
		}
	}
	for maker, run := range makers {
		for kind, flag := range map[string]string{"symbolic link": "/D", "junction": "/J"} {
			link := madeLink{name: kind + " of " + maker, path: mountParent + `\` + machine.RandomName()}
			link.err = run("cmd.exe", "/D", "/C", "mklink", flag, link.path, target)
			links = append(links, link)
		}
	}
	return links
}

// TestLinksThatLeadOut: the agent does not follow a link out of the working directories, even an administrator's.
func TestLinksThatLeadOut(t *testing.T) {
	onThisMachine(t)
	s, outside := machineSubject(t), t.TempDir()
	n := (&inquiry{TB: t, Subject: s}).agent()
	for _, link := range mklinks(t, outside) {
		if link.err != nil {
			t.Errorf("%s: %v", link.name, link.err)
			continue
		}
		if err := n.Mkdir(link.path + `\made`); err == nil {
			t.Errorf("%s: a directory was made through it", link.name)
		}
		if err := n.RmdirContents(link.path); err == nil {
			t.Errorf("%s: its target was emptied", link.name)
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("outside there is %v, %v", entries, err)
	}
}
