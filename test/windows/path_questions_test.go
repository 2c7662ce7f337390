// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
)

func pathQuestions() []Question {
	return []Question{
		{38, "May a directory be moved below which a volume is mounted, and does the mount manager follow the mount point?",
			askMoved},
		{58, "What do looks with OBJ_DONT_REPARSE come to, of a link, of what is below one, and of what is missing?", askUnfollowed},
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

// askUnfollowed opens by a path with links that lead somewhere and nowhere, and asks for its attributes. The agent takes
// success, and that the last name is missing, for answers, and walks after any other.
func askUnfollowed(q *inquiry) {
	dir, answers := machine.RandomName(), note(q, map[string]string{})
	q.check(q.makeDirectory(mountParent, dir))
	dir = mountParent + `\` + dir
	q.check(q.makeDirectory(dir, "there"))
	for name, target := range map[string]string{"link": dir + `\there`, "dangling": dir + `\nowhere`} {
		q.check(reparse.Plant(q.Kernel, dir+`\`+name, reparse.Junction(target)))
	}
	mounted := q.mount(q.newVolume())
	for name, path := range map[string]string{
		"a directory": dir + `\THERE`, "missing": dir + `\none`, "below a missing directory": dir + `\none\below`,
		"a link": dir + `\link`, "below a link": dir + `\link\none`, "a link that leads nowhere": dir + `\dangling`,
		"below a link that leads nowhere": dir + `\dangling\none`, "a mount point": strings.TrimSuffix(mounted, `\`),
		"below a mount point": mounted + `none`,
	} {
		h, err := q.Kernel.OpenFile(nil, `\\?\`+path, kernel.OpenOptions{Access: win32.FILE_READ_ATTRIBUTES, Share: shareAll,
			Disposition: win32.FILE_OPEN, Options: win32.FILE_OPEN_REPARSE_POINT, DontReparse: true})
		answers[name] = verdict(err)
		if asked := verdict(q.Kernel.QueryAttributes(`\\?\` + path)); asked != answers[name] {
			answers[name] += ", by its attributes: " + asked
		}
		if err == nil {
			found, err := winfs.LookAt(h)
			q.check(err)
			answers[name] += fmt.Sprintf(", a link: %t", found.Reparse != nil)
			_ = h.Close()
		}
	}
}
