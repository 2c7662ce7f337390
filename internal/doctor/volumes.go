// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

// volumes judges volumes.
func volumes(f Facts) []Finding {
	if f.Tree == nil {
		return nil
	}
	var findings []Finding
	for _, d := range f.Tree.Disks {
		for _, p := range d.Partitions {
			if p.Volume != nil && p.Volume.Formatted {
				findings = append(findings, volume(d, p)...)
			}
		}
	}
	return findings
}

func volume(d treeview.Disk, p treeview.Partition) []Finding {
	var findings []Finding
	v := p.Volume
	if v.MountPoints != nil && len(v.MountPoints) == 0 {
		findings = append(findings, Finding{
			Severity: Note, Check: "volume-not-mounted",
			What: fmt.Sprintf("a volume of disk %d is mounted nowhere: it is about to be staged, or was left behind",
				d.Number),
			Evidence: []string{v.ID, describe(d)}, Do: []string{},
		})
	}
	if p.SizeBytes > 0 && v.TotalBytes > 0 && p.SizeBytes-v.TotalBytes > slack {
		findings = append(findings, Finding{
			Severity: Warning, Check: "file-system-smaller",
			What: fmt.Sprintf("a file system of disk %d is smaller than its partition: growing it was not completed", d.Number),
			Evidence: []string{fmt.Sprintf("%s: file system %s, partition %s", v.ID, treeview.Size(v.TotalBytes),
				treeview.Size(p.SizeBytes))},
			Do: []string{command("csi-proxyctl volume resize %s", argument{"VOLUME", v.ID})},
		})
	}
	return findings
}
