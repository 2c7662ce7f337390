// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
)

// disk is a disk in a document. As in scenario files but for the number, which names one that is there, and:
type disk struct {
	Number uint32      `yaml:"number"`
	Image  string      `yaml:"image"`  // bundle.Spec.ImagePath
	Bundle string      `yaml:"bundle"` // bundle.Spec.BundlePath
	Spec   bundle.Spec `yaml:",inline"`
}

// addDisk attaches a disk.
func (d *document) addDisk(i int) (any, error) {
	for _, key := range []string{"number", "letter", "boot"} {
		if d.file.Has("disks", i, key) {
			return nil, invalid("disks[%d].%s: a disk that is added has none", i, key)
		}
	}
	spec := d.Disks[i].Spec
	spec.LUNAuto = !d.file.Has("disks", i, "lun")
	spec.ImagePath, spec.BundlePath = d.Disks[i].Image, d.Disks[i].Bundle
	number, err := d.node.AttachDisk(spec)
	return map[string]any{"number": number}, err
}

// changeDisk grows a disk, or changes its attributes.
func (d *document) changeDisk(i int) (any, error) {
	disk := &d.Disks[i]
	return nil, d.each(*disk, map[string]func() error{
		"number":   nil,
		"size":     func() error { return d.node.GrowDisk(disk.Number, int64(disk.Spec.SizeBytes)) },
		"offline":  func() error { return d.node.SetDiskOnline(disk.Number, !disk.Spec.Offline) },
		"readOnly": func() error { return d.node.SetDiskReadOnly(disk.Number, disk.Spec.ReadOnly) },
	}, "disks", i)
}

// removeDisk detaches a disk.
func (d *document) removeDisk(i int) (any, error) {
	number := d.Disks[i].Number
	if err := d.each(d.Disks[i], map[string]func() error{"number": nil}, "disks", i); err != nil {
		return nil, err
	}
	image, err := d.node.DetachDisk(number)
	return map[string]any{"number": number, "image": image}, err
}

func detachedDisks(n *emulated.Node) (any, error) {
	disks, err := n.DetachedDisks()
	return listed(disks, func(d emulated.DetachedDisk) any {
		return map[string]any{"serial": d.SerialNumber, "size": d.SizeBytes, "bundle": d.Bundle}
	}), err
}
