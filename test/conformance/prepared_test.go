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

// The things that tests find prepared, made without the version under test.

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

// mounted makes a volume with a file in it, mounted, on a new disk, which goes away with the part of the test.
func (d *driver) mounted() (number uint32, id, at string) {
	d.t.Helper()
	number = d.node.Attach(bundle.Spec{})
	d.t.Cleanup(func() { _, _ = d.node.Emulated.DetachDisk(number) })
	id, at = d.node.Formatted(number), d.unusedPath()
	caller.OK(d.t, d.node.MountVolume(id, at))
	d.write(at+`\data`, "precious")
	return number, id, at
}

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
