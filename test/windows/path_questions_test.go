// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"strings"

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

func askMoved(q *inquiry) {
	answers, volume := note(q, map[string]any{}), q.newVolume()
	above, moved := machine.RandomName(), machine.RandomName()
	q.check(q.makeDirectory(mountParent, above))
	q.check(q.makeDirectory(mountParent+`\`+above, "mount"))
	at := mountParent + `\` + above + `\mount\`
	q.check(q.Kernel.SetVolumeMountPoint(at, volume))
	q.Cleanup(func() { _ = q.Kernel.DeleteVolumeMountPoint(at) })
	list := func(when string) {
		paths, err := q.Kernel.VolumePathNames(volume)
		for i, path := range paths {
			paths[i] = strings.NewReplacer(above, "above", moved, "moved").Replace(strings.TrimPrefix(path, mountParent))
		}
		answers["listed "+when] = paths
		q.check(err)
	}
	list("before")
	parent, err := q.openDirectory(nil, `\\?\`+mountParent)
	q.check(err)
	defer parent.Close()
	h, err := q.Kernel.OpenFile(parent, above, kernel.OpenOptions{
		Access: win32.DELETE, Share: shareAll, Disposition: win32.FILE_OPEN, Options: win32.FILE_OPEN_REPARSE_POINT,
	})
	q.check(err)
	err = h.Rename(parent, moved)
	_ = h.Close()
	answers["move"] = verdict(err)
	if err == nil {
		at = mountParent + `\` + moved + `\mount\`
	}
	list("after")
	name, err := q.Kernel.VolumeNameForMountPoint(at)
	answers["the volume is found at the new place"] = verdict(err) + map[bool]string{true: ", the same one",
		false: ""}[name == volume]
}
