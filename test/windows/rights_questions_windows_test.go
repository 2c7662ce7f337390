// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

func rightsQuestions() []Question {
	return []Question{
		unasked(39, "Are SMB global mappings still there after a restart of Windows, and with which status?", "Windows would have to be restarted"),
		{41, "What do mappings with and without encryption come to, of a share that demands it and of one that does not?", askEncryption},
		{42, "Which steps of growing fail for a thread without SeManageVolumePrivilege and SeLoadDriverPrivilege?", askWithoutPrivileges},
		{43, "Are links that SYSTEM made, and that an administrator made, followed and refused alike?", askMakersOfLinks},
	}
}

func askEncryption(t testing.TB, s Subject) (any, error) {
	answers := map[string]string{}
	for kind, share := range map[string]func(testing.TB) (Share, error){"demands it": NewEncryptedShare, "does not": NewShare} {
		share, err := share(t)
		if err != nil {
			return answers, err
		}
		for with, private := range map[string]bool{"with": true, "without": false} {
			name := with + " encryption, a share that " + kind
			err := s.Kernel.CreateSMBGlobalMapping(share.Remote, share.User, kernel.Secret(share.Password), private)
			answers[name] = verdict(err)
			if err != nil {
				continue
			}
			root, err := openDirectory(s, nil, `\\?\UNC`+share.Remote[1:]+`\`)
			if err == nil {
				_ = root.Close()
			}
			answers[name+", opened"] = verdict(err)
			if err := s.Kernel.RemoveSMBGlobalMapping(share.Remote); err != nil {
				return answers, err
			}
		}
	}
	return answers, nil
}

func askWithoutPrivileges(t testing.TB, s Subject) (any, error) {
	d, err := s.Attach(t, gib, 0)
	if err != nil {
		return nil, err
	}
	volume, p, err := formatted(s, d)
	if err != nil {
		return nil, err
	}
	if err := d.Grow(2 * gib); err != nil {
		return nil, err
	}
	token, err := UnprivilegedToken()
	if err != nil {
		return nil, err
	}
	defer func() { _ = token.Close() }()
	answers := map[string]string{}
	err = AsToken(token, func() {
		answers["CM_Reenumerate_DevNode"] = verdict(s.Kernel.ReenumerateDevices())
		h, err := openDisk(s, d)
		answers["open the disk"] = verdict(err)
		if err != nil {
			return
		}
		defer h.Close()
		_, err = h.DeviceIoControl(win32.IOCTL_DISK_UPDATE_DRIVE_SIZE, nil, make([]byte, 24))
		answers["IOCTL_DISK_UPDATE_DRIVE_SIZE"] = verdict(err)
		const more = 512 * mib
		answers["IOCTL_DISK_GROW_PARTITION"] = verdict(send(h, win32.IOCTL_DISK_GROW_PARTITION, win32.GrowPartition{Number: p.Number, BytesToGrow: more}.Bytes()))
		v, err := s.Kernel.OpenDevice(strings.TrimSuffix(volume, `\`), readWrite)
		answers["open the volume"] = verdict(err)
		if err != nil {
			return
		}
		defer v.Close()
		answers["FSCTL_EXTEND_VOLUME"] = verdict(send(v, win32.FSCTL_EXTEND_VOLUME, win32.ExtendVolume((p.Length+more)/512)))
	})
	return answers, err
}

// askMakersOfLinks makes links by Windows' own mklink.
func askMakersOfLinks(t testing.TB, s Subject) (any, error) {
	system, err := windows.GetSystemDirectory()
	if err != nil {
		return nil, err
	}
	target := namePrefix + random(5)
	if err := makeDirectory(s, mountParent, target); err != nil {
		return nil, err
	}
	above, err := nativePath(s, mountParent)
	if err != nil {
		return nil, err
	}
	answers := map[string]string{}
	for maker, run := range map[string]func(command ...string) error{
		"an administrator": func(command ...string) error {
			out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			return err
		},
		"SYSTEM": func(command ...string) error { return AsSystem(t, command...) },
	} {
		for kind, flag := range map[string]string{"symbolic link": "/D", "junction": "/J"} {
			name, link := kind+" of "+maker, namePrefix+random(5)
			if err := run(filepath.Join(system, "cmd.exe"), "/D", "/C", "mklink", flag, mountParent+`\`+link, mountParent+`\`+target); err != nil {
				answers[name] = err.Error()
				continue
			}
			for how, refuse := range map[string]bool{"followed": false, "refused": true} {
				h, err := s.Kernel.OpenFile(nil, above+`\`+link, kernel.OpenHow{
					Access: win32.FILE_READ_ATTRIBUTES, Share: shareAll, Disposition: win32.FILE_OPEN, Options: win32.FILE_DIRECTORY_FILE, NoReparse: refuse,
				})
				if err == nil {
					_ = h.Close()
				}
				answers[name+", "+how] = verdict(err)
			}
		}
	}
	return answers, nil
}
