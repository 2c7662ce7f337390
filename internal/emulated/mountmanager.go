// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ntpath"
)

// deviceName returns the name of the volume's device. Windows numbers volumes as they arrive.
func (v *volume) deviceName() string {
	return fmt.Sprintf(`\Device\HarddiskVolume%d`, v.disk.record.Number<<8+v.Number)
}

// volumeAtDevice returns the volume with a device name in lower case, nil if there is none: \\?\volume{guid}, \\.\c:,
// \\?\globalroot\device\harddiskvolumeN or \\?\globalroot\device\harddiskN\partitionN.
func (n *Node) volumeAtDevice(name string) *volume {
	if id, ok := ntpath.ParseVolumeName(name + `\`); ok {
		return n.disks.volume(id)
	}
	if letter, ok := ntpath.CutAround(name, `\\.\`, ":"); ok {
		if l := n.state.letter(letter); l != nil {
			return n.disks.volume(l.Volume)
		}
	}
	const prefix = `\\?\globalroot\device\harddisk`
	before, after, _ := strings.Cut(name, `\partition`)
	number, isDisk := cutNumber(before, prefix)
	partition, isPartition := cutNumber(after, "")
	if volume, ok := cutNumber(name, prefix+"volume"); ok {
		number, partition, isDisk, isPartition = volume>>8, volume&0xff, true, true
	}
	if d := n.disks[number]; d != nil && isDisk && isPartition {
		return d.volume(func(v *volume) bool { return v.Number == partition })
	}
	return nil
}

// answerMountManager answers a control code to the mount manager.
func (n *Node) answerMountManager(code uint32, in, out []byte) (int, error) {
	switch code {
	case win32.IOCTL_MOUNTMGR_QUERY_POINTS:
		asked, err := deviceside.ParseMountPoint(in)
		if err != nil {
			return 0, win32.ERROR_INVALID_PARAMETER
		}
		return n.queryPoints(asked, out)
	case win32.IOCTL_MOUNTMGR_VOLUME_MOUNT_POINT_DELETED:
		return 0, given(in, deviceside.ParseVolumeMountPoint, win32.ERROR_INVALID_PARAMETER, n.forgetMountAt)
	}
	return 0, win32.ERROR_INVALID_FUNCTION
}

// queryPoints answers with the volumes' names and drive letters that have what is asked for. None is an error.
func (n *Node) queryPoints(asked win32.MountPoint, out []byte) (int, error) {
	var points []win32.MountPoint
	for _, v := range n.disks.volumes() {
		device := v.deviceName()
		if asked.Device != "" && !strings.EqualFold(asked.Device, device) {
			continue
		}
		var links []string
		for _, l := range n.state.Letters {
			if l.Volume == v.ID {
				links = append(links, `\DosDevices\`+l.Letter+":")
			}
		}
		for _, link := range append(links, `\??\`+strings.Trim(v.name(), `\?`)) {
			if asked.Link == "" || strings.EqualFold(asked.Link, link) {
				points = append(points, win32.MountPoint{Link: link, Device: device})
			}
		}
	}
	if len(points) == 0 || len(out) < headerBytes {
		return 0, win32.ERROR_INVALID_PARAMETER
	}
	return putOrHeader(out, deviceside.MountPoints(points))
}

// forgetMountAt drops the record of a mount point that its remover tells the mount manager of.
func (n *Node) forgetMountAt(gone win32.VolumeMountPoint) error {
	rest, ok := strings.CutPrefix(gone.Path, `\DosDevices\`)
	if !ok {
		return win32.ERROR_INVALID_PARAMETER
	}
	p, err := ntpath.ParseObject(rest)
	if err != nil {
		return err
	}
	h, err := n.openMountPoint(p, gone.Path, win32.FILE_READ_ATTRIBUTES, shareAll)
	if err != nil {
		return err
	}
	defer func() { _ = h.close() }() // nothing is lost: it holds no data
	return h.forgetMount()
}
