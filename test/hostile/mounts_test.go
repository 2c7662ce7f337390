// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// scratch is a directory in which a workload writes without a volume of its own, as in an emptyDir.
const scratch = pods + `\victim\scratch`

// onEitherWindows runs a test where Windows' functions bear the handle that holds a mount point's directory, and where
// they object to it.
func onEitherWindows(t *testing.T, subject int, test func(t *testing.T, switches *emulated.Switches)) {
	t.Helper()
	for i, objects := range []bool{false, true} {
		if testnode.Sampled(t, i, subject, 1) {
			t.Run(fmt.Sprintf("objects %t", objects), func(t *testing.T) {
				switches := emulated.DefaultSwitches()
				switches.MountPointCallsDelete = objects
				test(t, &switches)
			})
		}
	}
}

// TestSwappedMountPoints mounts and unmounts a volume at a directory while a workload swaps that directory, as fast as
// Windows lets it, for links, mount points of other volumes and other directories. Nothing outside changes, and
// Windows' own volume is mounted nowhere else.
func TestSwappedMountPoints(t *testing.T) {
	onEitherWindows(t, 0, func(t *testing.T, switches *emulated.Switches) {
		g := attack(t, testnode.Options{Emulated: emulated.Options{Switches: switches}})
		g.hostDir(scratch + `\plain`)
		for name, point := range map[string]win32.ReparsePoint{
			"link": symlink(`\??\` + canary), "junction": mountPoint(`\??\` + canary + `\victim\inner`),
			"system": mountPoint(ntName(g.system)), "volume": mountPoint(ntName(g.volume)),
		} {
			g.plant(scratch+`\`+name, point)
		}
		before := g.outside(g.HostPath(scratch))

		ctx, stop := context.WithCancel(t.Context())
		swapping := make(chan int, 1)
		go func() {
			swaps := 0
			for i := 0; ctx.Err() == nil; i++ {
				name := []string{"plain", "link", "junction", "system", "volume"}[i%5]
				if g.rename("leaf", "taken") && g.rename(name, "leaf") {
					swaps++
				}
				g.rename("leaf", name)
				g.rename("taken", "leaf")
			}
			swapping <- swaps
		}()
		calls := methodsNamed(t, "MountVolume", "UnmountVolume", "MountVolume", "Rmdir")
		seen := map[codes.Code]int{}
		for i := range *raceRounds {
			m := calls[i%len(calls)]
			leaf := scratch + `\leaf`
			_, err := g.call(t.Context(), m,
				m.encode(t, values{"volume_id": g.volume, "target_path": leaf, "path": leaf, "force": uint64(1)}))
			code := codeOf(err)
			seen[code]++
			if code == codes.Internal || code == codes.Unknown {
				t.Errorf("%v: %v", m, err)
			}
		}
		stop()
		t.Logf("%d swaps, results %v", <-swapping, seen)
		if diff := cmp.Diff(before, g.outside(g.HostPath(scratch))); diff != "" {
			t.Errorf("something outside changed (-before +after):\n%s", diff)
		}
		for _, m := range methodsNamed(t, "MountVolume", "UnmountVolume") {
			_, err := g.call(t.Context(), m, m.encode(t, values{"volume_id": g.volume, "target_path": scratch + `\after`}))
			wantCode(t, m, err, codes.OK)
		}
		for id, elsewhere := range map[string]string{g.system: `C:\`, g.volume: mount + `\`} {
			names, err := g.Emulated.VolumePathNames(id)
			noError(t, err)
			others := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
				return name == elsewhere || id == g.volume && strings.HasPrefix(name, scratch+`\leaf\`)
			})
			if len(others) > 0 || !slices.Contains(names, elsewhere) {
				t.Errorf("volume %s is mounted at %q", id, names)
			}
		}
		g.alive()
	})
}

// rename renames an entry of the scratch directory, if Windows allows it.
func (g *target) rename(from, to string) bool {
	open := func(path string, access uint32) (kernel.Handle, error) {
		return g.Emulated.OpenFile(nil, `\\?\`+path, kernel.OpenOptions{
			Access: access, Share: win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE | win32.FILE_SHARE_DELETE,
			Disposition: win32.FILE_OPEN, Options: win32.FILE_OPEN_REPARSE_POINT,
		})
	}
	dir, err := open(scratch, win32.FILE_LIST_DIRECTORY|win32.FILE_TRAVERSE)
	if err != nil {
		return false
	}
	defer dir.Close()
	h, err := open(scratch+`\`+from, win32.DELETE)
	if err != nil {
		return false
	}
	defer h.Close()
	return h.Rename(dir, to) == nil
}
