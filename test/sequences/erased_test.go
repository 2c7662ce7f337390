// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
)

// erasedLife is one node with two local volumes and the released provisioner: "linked" is a link to disk 1 mounted
// elsewhere, "mounted" is disk 2's mount point itself.
type erasedLife struct {
	*provisionerLife
	eraser *eraser
}

// localVolumes are the entries of the discovery directory.
func localVolumes() []string { return []string{"linked", "mounted"} }

func newErasedLife(t *testing.T, erase bool, d disturbance) *erasedLife {
	t.Helper()
	l := &erasedLife{newProvisionerLife(t, erase, d), &eraser{volumes: map[string]int64{}}}
	n, admin := l.node, newCalls(t, l.node, nil)
	for _, dir := range []string{discovery, `C:\mnt\volumes`} {
		l.must(mkdirAll(n, dir))
	}
	l.must(formatAndMount(admin, 1, mountedVolume, true))
	l.must(formatAndMount(admin, 2, discovery+`\mounted`, true))
	_, err := n.Filesystem.CreateSymlink(t.Context(), &filesystemapi.CreateSymlinkRequest{
		SourcePath: mountedVolume, TargetPath: discovery + `\linked`,
	})
	l.must(err)
	l.capacities = map[string]int64{}
	for name, path := range map[string]string{"linked": mountedVolume, "mounted": discovery + `\mounted`} {
		id, err := admin.volumeAt(path)
		l.must(err)
		l.capacities[name], _, err = admin.volumeStats(id)
		l.must(err)
	}
	l.injectFault(d)
	return l
}

// retried repeats an operation, as the provisioner does in each period.
func (l *erasedLife) retried(operation string, do func(c *calls) error) {
	l.t.Helper()
	var err error
	for range 1 + retries {
		l.calls.begin(operation)
		if err = do(l.calls); err == nil {
			return
		}
	}
	l.t.Fatalf("%s does not recover: %v", operation, err)
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
		dir := l.node.HostPath(discovery + `\` + name)
		l.must(os.MkdirAll(filepath.Join(dir, by), 0o755))
		l.must(os.WriteFile(filepath.Join(dir, by, "secret"), []byte(by), 0o600))
	}
}

// holds returns the names in the root of a volume.
func (l *erasedLife) holds(name string) string {
	l.t.Helper()
	entries, err := os.ReadDir(l.node.HostPath(discovery + `\` + name))
	l.must(err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return strings.Join(names, " ")
}

// live: what one tenant left is gone before the next one gets the volume.
func (l *erasedLife) live() {
	l.t.Helper()
	l.discover("discover#1")
	l.use("first")
	for _, name := range localVolumes() {
		l.retried("clean "+name, func(c *calls) error { return l.eraser.clean(c, name) })
		if got := l.holds(name); got != "" {
			l.t.Errorf("%s is released and holds %q", name, got)
		}
	}
	l.discover("discover#2")
	l.use("second")
	for _, name := range localVolumes() {
		if got := l.holds(name); got != "second" {
			l.t.Errorf("the second tenant of %s finds %q", name, got)
		}
	}
	l.kernel = l.node.Faults.Calls()
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
}

// TestErasingProvisionerIsRefused: an agent that erases nothing says so, the volume keeps its data and is not handed
// out again. Once an administrator has emptied it, it is.
func TestErasingProvisionerIsRefused(t *testing.T) {
	l := newErasedLife(t, false, disturbance{})
	l.discover("discover#1")
	l.use("first")
	for _, name := range localVolumes() {
		for range retries {
			if err := l.eraser.clean(l.calls, name); status.Code(err) != codes.FailedPrecondition ||
				!strings.Contains(err.Error(), "-erase-on-format") {
				t.Errorf("cleaning %s: %v", name, err)
			}
		}
		if got := l.holds(name); got != "first" {
			t.Errorf("%s holds %q", name, got)
		}
	}
	l.discover("discover#2") // the persistent volumes stay, Released
	if names := sequence(l.calls.taken, "discover#2"); len(names) != 1 {
		t.Errorf("the volumes are discovered again: %v", names)
	}
	for _, name := range localVolumes() {
		l.must(os.RemoveAll(filepath.Join(l.node.HostPath(discovery+`\`+name), "first")))
		l.retried("clean "+name, func(c *calls) error { return l.eraser.clean(c, name) })
	}
	l.discover("discover#3")
}

func TestErasingProvisionerInterrupted(t *testing.T) {
	undisturbed := newErasedLife(t, true, disturbance{})
	undisturbed.live()
	undisturbed.interrupt(t, 2, 5, func(t *testing.T, d disturbance) { newErasedLife(t, true, d).live() })
}

func TestErasingProvisionerWithKernelFaults(t *testing.T) {
	undisturbed := newErasedLife(t, true, disturbance{})
	undisturbed.live()
	undisturbed.fail(t, 3, 19, func(t *testing.T, d disturbance) { newErasedLife(t, true, d).live() })
}
