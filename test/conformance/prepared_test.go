// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// The things that scenarios find prepared, made without the version under test.

const (
	kubelet = `C:\var\lib\kubelet`
	pods    = kubelet + `\pods`
	gib     = 1 << 30

	unknownDisk   = uint32(77)
	unknownVolume = `\\?\Volume{12345678-9abc-def0-1234-56789abcdef0}\`
)

// unusedPath returns a path that does not exist; its parent does.
func (d *driver) unusedPath() string {
	*d.made++
	return fmt.Sprintf(`%s\p%d`, pods, *d.made)
}

// directory returns a fresh directory.
func (d *driver) directory() string {
	d.t.Helper()
	at := d.unusedPath()
	caller.OK(d.t, d.node.Mkdir(at))
	return at
}

// attached attaches a disk of 1 GiB, which goes away with the part of the test.
func (d *driver) attached(spec bundle.Spec) uint32 {
	d.t.Helper()
	spec.SizeBytes = gib
	number, err := d.node.Emulated.AttachDisk(spec)
	caller.OK(d.t, err)
	d.t.Cleanup(func() { _, _ = d.node.Emulated.DetachDisk(number) })
	return number
}

// blank attaches a blank disk.
func (d *driver) blank() uint32 {
	d.t.Helper()
	*d.made++
	return d.attached(bundle.Spec{LUNAuto: true, SerialNumber: fmt.Sprint("serial-", *d.made)})
}

// raw makes a volume without a file system on a new disk.
func (d *driver) raw() (number uint32, id string) {
	d.t.Helper()
	number = d.blank()
	return number, d.node.Raw(number)
}

// ntfs makes a formatted volume on a new disk.
func (d *driver) ntfs() (number uint32, id string) {
	d.t.Helper()
	number = d.blank()
	return number, d.node.Formatted(number)
}

// mounted makes a formatted volume on a new disk, mounted, with a file in it.
func (d *driver) mounted() (number uint32, id, at string) {
	d.t.Helper()
	number, id = d.ntfs()
	at = d.unusedPath()
	caller.OK(d.t, d.node.MountVolume(id, at))
	d.write(at+`\data`, "precious")
	return number, id, at
}

// linked makes a link.
func (d *driver) linked(to string) string {
	d.t.Helper()
	at := d.unusedPath()
	caller.OK(d.t, d.node.CreateSymlink(to, at))
	return at
}

// present reports whether a path exists, whatever it is.
func (d *driver) present(at string) bool { d.t.Helper(); return d.node.Exists(at) }

// intact asserts that the file of a mounted volume is unchanged.
func (d *driver) intact(at string) {
	d.t.Helper()
	if got := d.read(at + `\data`); got != "precious" {
		d.t.Errorf("the volume's file holds %q", got)
	}
}

// withDrive normalises a path as drivers do, where they do.
func withDrive(path string) string {
	path = strings.ReplaceAll(path, "/", `\`)
	if strings.HasPrefix(path, `\`) {
		path = "c:" + path
	}
	return path
}

func (d *driver) hostPath(at string) string {
	d.t.Helper()
	host, err := d.site.hostPath(withDrive(at))
	caller.OK(d.t, err)
	return host
}

// write writes a file as a workload on the node would.
func (d *driver) write(at, content string) {
	d.t.Helper()
	caller.OK(d.t, os.WriteFile(d.hostPath(at), []byte(content), 0o600))
}

// read reads a file as a workload on the node would.
func (d *driver) read(at string) string {
	d.t.Helper()
	content, err := os.ReadFile(d.hostPath(at))
	caller.OK(d.t, err)
	return string(content)
}

func (d *driver) tree() *treeview.Tree {
	d.t.Helper()
	facts, err := d.admin.GetFacts(d.t.Context(), &admin.GetFactsRequest{Parts: treeview.Parts()})
	caller.OK(d.t, err)
	return treeview.FromFacts(facts)
}

// treeOf returns a disk as the agent's administrators see it.
func (d *driver) treeOf(number uint32) treeview.Disk {
	d.t.Helper()
	for _, disk := range d.tree().Disks {
		if disk.Number == number {
			return disk
		}
	}
	d.t.Fatalf("there is no disk %d", number)
	return treeview.Disk{}
}

// state returns all disks, partitions, volumes and mount points, the mapped shares, and the entries of the directory of
// pods.
func (d *driver) state() string {
	d.t.Helper()
	entries, err := os.ReadDir(d.hostPath(pods))
	caller.OK(d.t, err)
	tree, err := json.Marshal(d.tree())
	caller.OK(d.t, err)
	return fmt.Sprintln(entries, d.mapped(), string(tree))
}

// scribble writes to a disk as another system would.
func (d *driver) scribble(number uint32, offset int64, text string) {
	d.t.Helper()
	image, err := d.node.Emulated.DiskImage(number)
	caller.OK(d.t, err)
	f, err := os.OpenFile(image, os.O_RDWR, 0)
	caller.OK(d.t, err)
	_, err = f.WriteAt([]byte(text), offset)
	caller.OK(d.t, err)
	caller.OK(d.t, f.Close())
}

// scribbled reports whether the written bytes are still there.
func (d *driver) scribbled(number uint32, offset int64, text string) bool {
	d.t.Helper()
	image, err := d.node.Emulated.DiskImage(number)
	caller.OK(d.t, err)
	f, err := os.Open(image)
	caller.OK(d.t, err)
	defer f.Close()
	b := make([]byte, len(text))
	_, err = f.ReadAt(b, offset)
	caller.OK(d.t, err)
	return string(b) == text
}
