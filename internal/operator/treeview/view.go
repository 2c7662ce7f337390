// SPDX-License-Identifier: Apache-2.0

package treeview

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/operator/terminal"
)

// A view collects the lines of a drawing.
type view struct {
	text strings.Builder

	disks      struct{ number, size, style, state int } // column widths
	partitions struct{ number, size int }
}

// Write draws a tree. The columns of all disks line up, and so do those of all partitions. The list of missing facts
// follows.
func Write(w io.Writer, tree *Tree) error {
	var v view
	for _, d := range tree.Disks {
		v.disks.number = max(v.disks.number, len(fmt.Sprint(d.Number)))
		v.disks.size = max(v.disks.size, len(d.Size()))
		v.disks.style = max(v.disks.style, len(d.Style))
		v.disks.state = max(v.disks.state, len(d.State()))
		for _, p := range d.Partitions {
			v.partitions.number = max(v.partitions.number, len(fmt.Sprint(p.Number)))
			v.partitions.size = max(v.partitions.size, len(Size(p.SizeBytes)))
		}
	}
	if len(tree.Disks)+len(tree.Unknown) == 0 {
		v.line("This node has no disks.")
	}
	for i, d := range tree.Disks {
		if i > 0 {
			v.line("")
		}
		v.disk(d)
	}
	for _, list := range []struct {
		head  string
		texts []string
	}{{"Unknown, because Windows did not answer:", tree.Unknown}, {"Missing:", tree.Missing}} {
		if len(list.texts) > 0 {
			v.line("\n%s\n  %s", list.head, terminal.Text(strings.Join(list.texts, "\n  ")))
		}
	}
	_, err := io.WriteString(w, strings.TrimPrefix(v.text.String(), "\n"))
	return err
}

func (v *view) disk(d Disk) {
	v.line("Disk %-*d  %*s  %-*s  %-*s  %s", v.disks.number, d.Number, v.disks.size, d.Size(), v.disks.style,
		cmp.Or(d.Style, "-"), v.disks.state, d.State(),
		joined(" ", "", d.BusType, "adapter ", d.Adapter, "bus ", d.Bus, "target ", d.Target, "LUN ", d.LUN))
	rail := " "
	if len(d.Partitions) > 0 {
		rail = "│"
	}
	if id := joined("  ", "serial ", d.SerialNumber, "page 83 ", d.Page83); id != "" {
		v.line("%s     %s", rail, terminal.Text(id))
	}
	v.children(len(d.Partitions), "", func(i int, branch, below string) {
		v.partition(d.Partitions[i], branch, below)
	})
}

func (v *view) partition(p Partition, branch, below string) {
	if p.Number == 0 && p.Volume != nil { // the partition is not known
		v.volume(p.Volume, branch, below)
		return
	}
	v.line("%sPartition %-*d  %*s  %s", branch, v.partitions.number, p.Number, v.partitions.size, Size(p.SizeBytes),
		strings.Join(append([]string{p.Kind}, p.Unusual()...), ", "))
	if p.Volume != nil {
		v.children(1, below, func(_ int, branch, below string) { v.volume(p.Volume, branch, below) })
	} else if p.Unknown != "" {
		v.line("%s└─ the volume is unknown", below)
	}
}

func (v *view) volume(vol *Volume, branch, below string) {
	usage := vol.Format()
	if vol.Formatted && vol.TotalBytes > 0 {
		usage += fmt.Sprintf("  %s of %s used", Size(vol.UsedBytes), Size(vol.TotalBytes))
	}
	if vol.MountPoints == nil && vol.Unknown != "" && vol.Formatted {
		usage += "  mount points " + unknown
	}
	v.line("%s%s  %s", branch, vol.ID, usage)
	v.children(len(vol.MountPoints), below, func(i int, branch, _ string) {
		v.line("%s%s", branch, terminal.Text(vol.MountPoints[i]))
	})
}

// children draws n entries below one: branch is what stands before an entry, below what stands before all that hangs
// from it.
func (v *view) children(n int, indent string, draw func(i int, branch, below string)) {
	for i := range n {
		if i == n-1 {
			draw(i, indent+"└─ ", indent+"   ")
		} else {
			draw(i, indent+"├─ ", indent+"│  ")
		}
	}
}

func (v *view) line(format string, args ...any) {
	v.text.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}
