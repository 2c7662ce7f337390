// SPDX-License-Identifier: Apache-2.0

package treeview

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
)

// A view collects the lines of a drawing.
type view struct {
	text strings.Builder

	disks      struct{ number, size, style, state int } // column widths
	partitions struct{ number, size int }
}

// Write draws the tree that the admin endpoint gave. The columns of all disks line up, and so do those of all
// partitions.
func Write(w io.Writer, tree *admin.GetTreeResponse) error {
	var v view
	v.measure(tree)
	if len(tree.GetDisks()) == 0 {
		v.text.WriteString("This node has no disks.\n")
	}
	for i, d := range tree.GetDisks() {
		if i > 0 {
			v.text.WriteByte('\n')
		}
		v.disk(d)
	}
	_, err := io.WriteString(w, v.text.String())
	return err
}

func (v *view) measure(tree *admin.GetTreeResponse) {
	for _, d := range tree.GetDisks() {
		v.disks.number = max(v.disks.number, width(fmt.Sprint(d.GetNumber())))
		v.disks.size = max(v.disks.size, width(Size(d.GetSizeBytes())))
		v.disks.style = max(v.disks.style, width(d.GetStyle()))
		v.disks.state = max(v.disks.state, width(diskState(d)))
		for _, p := range d.GetPartitions() {
			v.partitions.number = max(v.partitions.number, width(fmt.Sprint(p.GetNumber())))
			v.partitions.size = max(v.partitions.size, width(Size(p.GetSizeBytes())))
		}
	}
}

func (v *view) disk(d *admin.Disk) {
	v.line("Disk ", left(fmt.Sprint(d.GetNumber()), v.disks.number), "  ", right(Size(d.GetSizeBytes()), v.disks.size), "  ",
		left(orDash(d.GetStyle()), v.disks.style), "  ", left(diskState(d), v.disks.state), "  ", attachment(d))
	rail := "   "
	if len(d.GetPartitions()) > 0 {
		rail = "│  "
	}
	if id := identity(d); id != "" {
		v.line(rail, "   ", id)
	}
	v.children(len(d.GetPartitions()), "", func(i int, branch, below string) {
		v.partition(d.GetPartitions()[i], branch, below)
	})
}

func (v *view) partition(p *admin.Partition, branch, below string) {
	v.line(branch, "Partition ", left(fmt.Sprint(p.GetNumber()), v.partitions.number), "  ", right(Size(p.GetSizeBytes()), v.partitions.size), "  ", p.GetKind())
	if p.GetVolume() == nil {
		return
	}
	v.children(1, below, func(_ int, branch, below string) { v.volume(p.GetVolume(), branch, below) })
}

func (v *view) volume(vol *admin.Volume, branch, below string) {
	v.line(branch, vol.GetId(), "  ", usage(vol))
	v.children(len(vol.GetMountPoints()), below, func(i int, branch, _ string) {
		v.line(branch, printable(vol.GetMountPoints()[i]))
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

func diskState(d *admin.Disk) string {
	state := "offline"
	if d.GetOnline() {
		state = "online"
	}
	if d.GetReadOnly() {
		state += ", read-only"
	}
	if d.GetSystem() {
		state += ", system"
	}
	return state
}

// attachment tells how and where the disk is attached.
func attachment(d *admin.Disk) string {
	var parts []string
	if d.GetBusType() != "" {
		parts = append(parts, d.GetBusType())
	}
	for _, part := range []struct{ name, value string }{
		{"adapter", d.GetAdapter()}, {"bus", d.GetBus()}, {"target", d.GetTarget()}, {"LUN", d.GetLun()},
	} {
		if part.value != "" {
			parts = append(parts, part.name+" "+part.value)
		}
	}
	return strings.Join(parts, " ")
}

// identity tells how drivers recognise the disk.
func identity(d *admin.Disk) string {
	var parts []string
	if d.GetSerialNumber() != "" {
		parts = append(parts, "serial "+printable(d.GetSerialNumber()))
	}
	if d.GetPage83() != "" {
		parts = append(parts, "page 83 "+printable(d.GetPage83()))
	}
	return strings.Join(parts, "  ")
}

// usage tells how full a volume is.
func usage(v *admin.Volume) string {
	if v.GetFileSystem() == "" {
		return "no file system"
	}
	if v.GetTotalBytes() <= 0 {
		return v.GetFileSystem()
	}
	return fmt.Sprintf("%s  %s of %s used", v.GetFileSystem(), Size(v.GetUsedBytes()), Size(v.GetTotalBytes()))
}

// printable keeps a device's own text from steering the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError || (r >= 0x80 && r < 0xa0) {
			return '?'
		}
		return r
	}, text)
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
