// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/machine"
)

func pathQuestions() []Question {
	return []Question{
		{38, "May a directory be moved below which a volume is mounted, and does the mount manager follow the mount point?",
			askMoved},
		{40, "Which links does OBJ_DONT_REPARSE refuse: those on the way, also one that is itself opened, or none?",
			askRefused},
	}
}

func askMoved(t testing.TB, s Subject) (any, error) {
	volume, _, err := freshVolume(t, s)
	if err != nil {
		return nil, err
	}
	above, moved := machine.RandomName(), machine.RandomName()
	if err := makeDirectory(s, mountParent, above); err != nil {
		return nil, err
	}
	if err := makeDirectory(s, mountParent+`\`+above, "mount"); err != nil {
		return nil, err
	}
	at := mountParent + `\` + above + `\mount\`
	if err := s.Kernel.SetVolumeMountPoint(at, volume); err != nil {
		return nil, err
	}
	answers := map[string]any{}
	list := func(when string) error {
		paths, err := s.Kernel.VolumePathNames(volume)
		for i, path := range paths {
			paths[i] = strings.NewReplacer(above, "above", moved, "moved").Replace(strings.TrimPrefix(path, mountParent))
		}
		answers["listed "+when] = paths
		return err
	}
	if err := list("before"); err != nil {
		return answers, err
	}
	parent, err := openDirectory(s, nil, `\\?\`+mountParent)
	if err != nil {
		return answers, err
	}
	defer parent.Close()
	h, err := s.Kernel.OpenFile(parent, above, kernel.OpenOptions{
		Access: win32.DELETE, Share: shareAll, Disposition: win32.FILE_OPEN, Options: win32.FILE_OPEN_REPARSE_POINT,
	})
	if err != nil {
		return answers, err
	}
	err = h.Rename(parent, moved)
	_ = h.Close()
	answers["move"] = verdict(err)
	if err == nil {
		at = mountParent + `\` + moved + `\mount\`
	}
	t.Cleanup(func() { _ = s.Kernel.DeleteVolumeMountPoint(at) })
	if err := list("after"); err != nil {
		return answers, err
	}
	name, err := s.Kernel.VolumeNameForMountPoint(at)
	answers["the volume is found at the new place"] = verdict(err) + map[bool]string{true: ", the same one",
		false: ""}[name == volume]
	return answers, nil
}

func askRefused(_ testing.TB, s Subject) (any, error) {
	link, target := machine.RandomName(), machine.RandomName()
	for _, name := range []string{link, target} {
		if err := makeDirectory(s, mountParent, name); err != nil {
			return nil, err
		}
	}
	if err := makeDirectory(s, mountParent+`\`+target, "inside"); err != nil {
		return nil, err
	}
	h, err := openPlace(s, mountParent+`\`+link, win32.FILE_WRITE_ATTRIBUTES, shareAll)
	if err != nil {
		return nil, err
	}
	junction := win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_MOUNT_POINT, SubstituteName: `\??\` +
		mountParent + `\` + target}
	err = send(h, win32.FSCTL_SET_REPARSE_POINT, junction.Bytes())
	_ = h.Close()
	if err != nil {
		return nil, err
	}
	above, err := nativePath(s, mountParent)
	if err != nil {
		return nil, err
	}
	answers := map[string]string{}
	for name, open := range map[string]struct {
		path    string
		options uint32
		refuse  bool
	}{
		"on the way, followed":     {link + `\inside`, win32.FILE_DIRECTORY_FILE, false},
		"on the way, refused":      {link + `\inside`, win32.FILE_DIRECTORY_FILE, true},
		"itself, opened as a link": {link, win32.FILE_OPEN_REPARSE_POINT, true},
		"itself, to be followed":   {link, win32.FILE_DIRECTORY_FILE, true},
	} {
		h, err := s.Kernel.OpenFile(nil, above+`\`+open.path, kernel.OpenOptions{
			Access: win32.FILE_READ_ATTRIBUTES, Share: shareAll, Disposition: win32.FILE_OPEN, Options: open.options,
			NoReparse: open.refuse,
		})
		if err == nil {
			_ = h.Close()
		}
		answers[name] = verdict(err)
	}
	return answers, nil
}

// nativePath returns the path of a directory in the object manager's spelling: a drive letter is a link itself, which
// OBJ_DONT_REPARSE refuses.
func nativePath(s Subject, path string) (string, error) {
	h, err := openDirectory(s, nil, `\\?\`+path)
	if err != nil {
		return "", err
	}
	defer h.Close()
	return h.FinalPath(win32.VOLUME_NAME_NT)
}
