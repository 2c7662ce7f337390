// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
)

// The things that the administrator made.
const (
	mountedVolume = `C:\mnt\volumes\one` // disk 1
	sharedVolume  = `C:\mnt\volumes\two` // disk 2
	plainDir      = `C:\mnt\directories\three`
)

// localLife is one node with local volumes and its provisioner: "mounted" is disk 1's mount point itself, "linked" a
// link to disk 1 mounted elsewhere, "shared" a link to a directory on disk 2, "plain" one to a directory on drive C,
// and "mistake" a directory that is neither link nor mount point.
type localLife struct {
	*provisionerLife
	provisioner *provisioner
	uncertain   bool
}

func newLocalLife(t *testing.T, d disturbance) *localLife {
	t.Helper()
	l := &localLife{newProvisionerLife(t, false, d), &provisioner{volumes: map[string]int64{}}, d.fault != nil}
	l.administer()
	l.measure()
	l.injectFault(d)
	return l
}

// administer makes the local volumes.
func (l *localLife) administer() {
	l.t.Helper()
	admin := newCalls(l.t, l.node, nil)
	for _, dir := range []string{discovery + `\mistake`, plainDir, `C:\mnt\volumes`} {
		l.must(mkdirAll(l.node, dir))
	}
	for number, path := range map[uint32]string{1: mountedVolume, 2: sharedVolume} {
		l.must(formatAndMount(admin, number, path, true))
	}
	l.must(mkdirAll(l.node, sharedVolume+`\below`))
	id, err := admin.volumeAt(mountedVolume)
	l.must(err)
	l.must(admin.mountVolume(id, discovery+`\mounted`))
	for name, target := range map[string]string{"linked": mountedVolume, "shared": sharedVolume +
		`\below`, "plain": plainDir} {
		_, err := l.node.Filesystem.CreateSymlink(l.t.Context(), &filesystemapi.CreateSymlinkRequest{
			SourcePath: target, TargetPath: discovery + `\` + name,
		})
		l.must(err)
	}
}

// period runs the provisioner's periods until the only error is the mistake, which is retried without end.
func (l *localLife) period(operation string) {
	l.t.Helper()
	var err error
	for range 1 + retries {
		l.calls.begin(operation)
		err = l.provisioner.discover(l.calls)
		if lines := strings.Split(fmt.Sprint(err), "\n"); errors.Is(err, errNoMountPoint) && len(lines) == 1 {
			return
		}
	}
	l.t.Fatalf("%s does not recover: %v", operation, err)
}

// live discovers, uses and releases the volumes.
func (l *localLife) live() {
	l.t.Helper()
	l.period("discover#1")
	l.wantCapacities()
	for _, name := range []string{"linked", "shared", "plain"} {
		l.node.WriteFile(discovery+`\`+name+`\data`, name)
	}
	l.release()
	l.period("discover#2")
	l.wantCapacities()
	l.kernel = l.node.Faults.Calls()
}

// measure asks for the sizes of disk 1, disk 2 and drive C before anything is disturbed.
func (l *localLife) measure() {
	l.t.Helper()
	size := func(path string) int64 {
		id, err := l.node.Volume.GetClosestVolumeIDFromTargetPath(l.t.Context(),
			&volumeapi.GetClosestVolumeIDFromTargetPathRequest{TargetPath: path})
		l.must(err)
		stats, err := l.node.Volume.GetVolumeStats(l.t.Context(),
			&volumeapi.GetVolumeStatsRequest{VolumeId: id.GetVolumeId()})
		l.must(err)
		return stats.GetTotalBytes()
	}
	one, two, c := size(mountedVolume), size(sharedVolume), size(`C:\mnt`)
	if one < 9<<30 || one > 10<<30 || two < 19<<30 || two > 20<<30 || c < 60<<30 {
		l.t.Errorf("the file systems have %d, %d and %d bytes", one, two, c)
	}
	l.capacities = map[string]int64{"mounted": one, "linked": one, "shared": two, "plain": c}
}

// wantCapacities: each volume has the capacity of its file system.
func (l *localLife) wantCapacities() {
	l.t.Helper()
	if diff := cmp.Diff(l.capacities, l.provisioner.volumes); diff != "" {
		l.t.Errorf("persistent volumes (-want +got):\n%s", diff)
	}
}

// release gives the volumes back. The agent does not empty the target of a link or a mount point, so the provisioner
// reports the failure and keeps retrying, and the data stays.
func (l *localLife) release() {
	l.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(l.provisioner.volumes)) {
		l.calls.begin("clean " + name)
		for range 1 + retries {
			if err := l.provisioner.clean(l.calls, name); status.Code(err) == codes.FailedPrecondition {
				break
			} else if !errors.Is(err, errInterrupted) && !l.uncertain {
				l.t.Fatalf("cleaning %s: %v", name, err)
			}
			l.calls.begin("clean " + name)
		}
	}
	for _, name := range []string{"linked", "shared", "plain"} {
		if got := l.node.ReadFile(discovery + `\` + name + `\data`); got != name {
			l.t.Errorf("%s holds %q", name, got)
		}
	}
}

func TestLocalProvisioner(t *testing.T) {
	l := newLocalLife(t, disturbance{})
	l.live()
	const of = "IsSymlink GetClosestVolumeIDFromTargetPath GetVolumeStats"
	// In the order of the names: linked, mistake, mounted, plain, shared.
	want := strings.Join([]string{"readdir", of, "IsSymlink", of, of, of}, " ")
	if got := strings.Join(sequence(l.calls.taken, "discover#1"), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := strings.Join(sequence(l.calls.taken, "discover#2"), " "); got != "readdir IsSymlink" {
		t.Errorf("the second period, with every volume known: %s", got)
	}
}

func TestLocalProvisionerInterrupted(t *testing.T) {
	undisturbed := newLocalLife(t, disturbance{})
	undisturbed.live()
	undisturbed.interrupt(t, 0, 7, func(t *testing.T, d disturbance) { newLocalLife(t, d).live() })
}

func TestLocalProvisionerWithKernelFaults(t *testing.T) {
	undisturbed := newLocalLife(t, disturbance{})
	undisturbed.live()
	undisturbed.fail(t, 0, 23, func(t *testing.T, d disturbance) { newLocalLife(t, d).live() })
}
