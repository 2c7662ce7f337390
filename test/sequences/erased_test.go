// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// discovery is the directory of a node's local volumes: links or mount points that the administrator makes, as the
// provisioner wants them on Windows. They lead into the other working directories.
const discovery = `C:\mnt\disks`

// eraser is the local static provisioner on the v1 pipes. In each period it makes persistent volumes of new entries in
// the discovery directory. A released volume is erased by formatting it.
//
// https://github.com/kubernetes-sigs/sig-storage-local-static-provisioner, pkg/util/volume_util_windows.go,
// pkg/discovery/discovery.go and pkg/deleter/deleter.go
type eraser struct {
	volumes map[string]int64 // the persistent volumes with their capacities, as in the API server
}

// discover plays one period. An error in one entry does not affect the others.
func (e *eraser) discover(c *calls) error {
	names, err := c.osReadDirNames(discovery)
	failures := []error{err}
	for _, name := range names {
		if _, known := e.volumes[name]; known {
			continue
		}
		is, err := c.IsSymlink(discovery + `\` + name)
		if err == nil && !is {
			err = errors.New("it is not a symbolic link")
		}
		var capacity int64
		if err == nil {
			capacity, _, err = c.statsAt(discovery + `\` + name)
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", name, err))
			continue
		}
		e.volumes[name] = capacity
	}
	return errors.Join(failures...)
}

// clean erases the volume of a released persistent volume. Only after that it deletes the persistent volume, so that
// the next period makes it again.
func (e *eraser) clean(c *calls, name string) error {
	id, err := c.GetVolumeIDFromTargetPath(discovery + `\` + name)
	if err == nil {
		err = c.FormatVolume(id)
	}
	if err == nil {
		delete(e.volumes, name)
	}
	return err
}

// osReadDirNames lists a directory that the provisioner's container sees.
func (c *calls) osReadDirNames(path string) (names []string, err error) {
	err = c.step("readdir", func() error {
		entries, err := os.ReadDir(c.node.HostPath(path))
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		return err
	})
	return names, err
}

// erasedLife is one node with two local volumes and the provisioner: "linked" is a link to disk 1 mounted elsewhere,
// "mounted" is disk 2's mount point itself.
type erasedLife struct {
	*retriedLife
	eraser     *eraser
	capacities map[string]int64 // of the volumes, as they are
}

// localVolumes are the entries of the discovery directory.
func localVolumes() []string { return []string{"linked", "mounted"} }

func newErasedLife(t *testing.T, erase bool, d disturbance) *erasedLife {
	t.Helper()
	const elsewhere = `C:\mnt\volumes\one`
	l := &erasedLife{newRetriedLife(t, testnode.Options{WorkingDirs: []string{`C:\mnt`}, EraseOnFormat: erase}, d),
		&eraser{volumes: map[string]int64{}}, nil}
	admin := newCalls(t, l.node.Node, nil)
	for _, dir := range []string{discovery, parent(elsewhere)} {
		l.must(mkdirAll(l.node.Node, dir))
	}
	l.must(formatAndMount(admin, 1, elsewhere, true))
	l.must(formatAndMount(admin, 2, discovery+`\mounted`, true))
	l.must(l.node.CreateSymlink(elsewhere, discovery+`\linked`))
	linked, _, err := admin.statsAt(elsewhere)
	l.must(err)
	mounted, _, err := admin.statsAt(discovery + `\mounted`)
	l.must(err)
	l.capacities = map[string]int64{"linked": linked, "mounted": mounted}
	return l
}

// discover finds both volumes, each with the capacity of its file system.
func (l *erasedLife) discover(operation string) {
	l.t.Helper()
	l.retried(operation, l.eraser.discover)
	if diff := cmp.Diff(l.capacities, l.eraser.volumes); diff != "" {
		l.t.Errorf("%s: persistent volumes (-want +got):\n%s", operation, diff)
	}
}

func (l *erasedLife) use(by string) {
	l.t.Helper()
	for _, name := range localVolumes() {
		l.node.WriteBelow(discovery+`\`+name, by+"/secret")
	}
}

// holds asserts the names in the root of a volume.
func (l *erasedLife) holds(name, want string) {
	l.t.Helper()
	entries, err := os.ReadDir(l.node.HostPath(discovery + `\` + name))
	l.must(err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if got := strings.Join(names, " "); got != want {
		l.t.Errorf("%s holds %q, want %q", name, got, want)
	}
}

func (l *erasedLife) clean(name string) {
	l.t.Helper()
	l.retried("clean "+name, func(c *calls) error { return l.eraser.clean(c, name) })
}

// live: what one tenant left is gone before the next one gets the volume.
func (l *erasedLife) live() {
	l.t.Helper()
	l.discover("discover#1")
	l.use("first")
	for _, name := range localVolumes() {
		l.clean(name)
		l.holds(name, "")
	}
	l.discover("discover#2")
	l.use("second")
	for _, name := range localVolumes() {
		l.holds(name, "second")
	}
}

func TestErasingProvisioner(t *testing.T) {
	l := newErasedLife(t, true, disturbance{})
	l.live()
	const of = "IsSymlink GetVolumeIDFromTargetPath GetVolumeStats"
	for operation, want := range map[string]string{
		"discover#1": "readdir " + of + " " + of, "clean linked": "GetVolumeIDFromTargetPath FormatVolume",
		"discover#2": "readdir " + of + " " + of,
	} {
		if got := strings.Join(sequence(l.calls.taken, operation), " "); got != want {
			t.Errorf("%s: got %s, want %s", operation, got, want)
		}
	}
	l.again(t, 2, 5, func(t *testing.T, d disturbance) { newErasedLife(t, true, d).live() })
}

// TestErasingProvisionerIsRefused: an agent that erases nothing says so, the volume keeps its data and is not handed
// out again. Once an administrator has emptied it, it is.
func TestErasingProvisionerIsRefused(t *testing.T) {
	l := newErasedLife(t, false, disturbance{})
	l.discover("discover#1")
	l.use("first")
	for _, name := range localVolumes() {
		l.node.Code(l.eraser.clean(l.calls, name), codes.FailedPrecondition, "-erase-on-format")
		l.holds(name, "first")
	}
	l.discover("discover#2") // the persistent volumes stay, Released
	if names := sequence(l.calls.taken, "discover#2"); len(names) != 1 {
		t.Errorf("the volumes are discovered again: %v", names)
	}
	for _, name := range localVolumes() {
		l.must(os.RemoveAll(l.node.HostPath(discovery + `\` + name + `\first`)))
		l.clean(name)
	}
	l.discover("discover#3")
}
