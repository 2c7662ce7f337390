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
