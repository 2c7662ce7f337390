// SPDX-License-Identifier: Apache-2.0

package treeview

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/kubernetes-csi/csi-proxy/internal/printable"
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
	v.measure(tree)
	if len(tree.Disks) == 0 {
		v.text.WriteString("This node has no disks.\n")
	}
	for i, d := range tree.Disks {
		if i > 0 {
			v.text.WriteByte('\n')
		}
		v.disk(d)
	}
	for i, what := range tree.Missing {
		if i == 0 {
			v.text.WriteString("\nMissing:\n")
		}
		v.line("  ", printable.Text(what))
	}
	_, err := io.WriteString(w, v.text.String())
	return err
}

func (v *view) measure(tree *Tree) {
	for _, d := range tree.Disks {
		v.disks.number = max(v.disks.number, width(fmt.Sprint(d.Number)))
		v.disks.size = max(v.disks.size, width(diskSize(d)))
		v.disks.style = max(v.disks.style, width(d.Style))
		v.disks.state = max(v.disks.state, width(d.State()))
		for _, p := range d.Partitions {
			v.partitions.number = max(v.partitions.number, width(fmt.Sprint(p.Number)))
			v.partitions.size = max(v.partitions.size, width(Size(p.SizeBytes)))
		}
	}
}

func (v *view) disk(d Disk) {
	v.line("Disk ", left(fmt.Sprint(d.Number), v.disks.number), "  ", right(diskSize(d), v.disks.size), "  ",
		left(orDash(d.Style), v.disks.style), "  ", left(d.State(), v.disks.state), "  ", attachment(d))
	rail := "   "
	if len(d.Partitions) > 0 {
		rail = "│  "
	}
	if id := identity(d); id != "" {
		v.line(rail, "   ", id)
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
	v.line(branch, "Partition ", left(fmt.Sprint(p.Number), v.partitions.number), "  ",
		right(Size(p.SizeBytes), v.partitions.size), "  ", p.Kind)
	if p.Volume == nil {
		return
	}
	v.children(1, below, func(_ int, branch, below string) { v.volume(p.Volume, branch, below) })
}

func (v *view) volume(vol *Volume, branch, below string) {
	v.line(branch, vol.ID, "  ", usage(vol))
	v.children(len(vol.MountPoints), below, func(i int, branch, _ string) {
		v.line(branch, printable.Text(vol.MountPoints[i]))
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

func (v *view) line(parts ...string) {
	v.text.WriteString(strings.TrimRight(strings.Join(parts, ""), " "))
	v.text.WriteByte('\n')
}

// diskSize returns the size of a disk, or a dash if it is not known.
func diskSize(d Disk) string {
	if d.SizeBytes == 0 {
		return "-"
	}
	return Size(d.SizeBytes)
}

// attachment returns how and where the disk is attached.
func attachment(d Disk) string {
	var parts []string
	if d.BusType != "" {
		parts = append(parts, d.BusType)
	}
	for _, part := range []struct{ name, value string }{
		{"adapter", d.Adapter}, {"bus", d.Bus}, {"target", d.Target}, {"LUN", d.LUN},
	} {
		if part.value != "" {
			parts = append(parts, part.name+" "+part.value)
		}
	}
	return strings.Join(parts, " ")
}

// identity returns the identifiers by which drivers recognise the disk.
func identity(d Disk) string {
	var parts []string
	if d.SerialNumber != "" {
		parts = append(parts, "serial "+printable.Text(d.SerialNumber))
	}
	if d.Page83 != "" {
		parts = append(parts, "page 83 "+printable.Text(d.Page83))
	}
	return strings.Join(parts, "  ")
}

// usage returns how full a volume is.
func usage(v *Volume) string {
	if !v.Formatted || v.TotalBytes <= 0 {
		return v.Format()
	}
	return fmt.Sprintf("%s  %s of %s used", v.Format(), Size(v.UsedBytes), Size(v.TotalBytes))
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func width(text string) int { return utf8.RuneCountInString(text) }

func left(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-width(text)))
}

func right(text string, columns int) string {
	return strings.Repeat(" ", max(0, columns-width(text))) + text
}
