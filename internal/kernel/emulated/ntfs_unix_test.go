// SPDX-License-Identifier: Apache-2.0

//go:build unix

package emulated

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// ntfsTool runs a program of Debian's package ntfs-3g.
func ntfsTool(t *testing.T, name string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("require %s, of the package ntfs-3g: hack/setup.sh test installs it", name)
	}
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// partitionFile copies what is not zero of a volume's partition to a file of its own.
func partitionFile(t *testing.T, v *volume) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "partition")
	f, err := os.Create(name)
	must(t, err)
	defer f.Close()
	must(t, f.Truncate(v.length))
	b, zeros := make([]byte, 1<<20), make([]byte, 1<<20)
	for at := int64(0); at < v.length; at += int64(len(b)) {
		n, err := v.disk.image.file.ReadAt(b[:min(int64(len(b)), v.length-at)], v.offset+at)
		must(t, err)
		if !bytes.Equal(b[:n], zeros[:n]) {
			_, err = f.WriteAt(b[:n], at)
			must(t, err)
		}
	}
	return name
}

// wholeNTFS checks that the tools accept the file system of a volume, which fills its partition, and returns how much
// is free.
func wholeNTFS(t *testing.T, v *volume) (free uint64) {
	t.Helper()
	part := partitionFile(t, v)
	fixed := ntfsTool(t, "ntfsfix", "-n", part)
	if !strings.Contains(fixed, "completed successfully") || strings.Contains(fixed, "FAILED") ||
		strings.Contains(fixed, "BAD") {
		t.Errorf("ntfsfix -n:\n%s", fixed)
	}
	ntfsTool(t, "ntfsresize", "-i", "-f", "-P", part) // compares every file's clusters with $Bitmap
	info := ntfsTool(t, "ntfsinfo", "-m", part)
	m := regexp.MustCompile(`Free Clusters: (\d+)`).FindStringSubmatch(info)
	if m == nil || !strings.Contains(info, "Volume Version: 3.1") {
		t.Fatalf("ntfsinfo -m:\n%s", info)
	}
	clusters, err := strconv.ParseUint(m[1], 10, 64)
	must(t, err)
	return clusters * uint64(v.boot.clusterBytes)
}

// growDisk makes disk 1, its data partition and, if it can, the file system there larger.
func growDisk(t *testing.T, n *Node, bytes int64) error {
	t.Helper()
	must(t, n.GrowDisk(1, n.disks[1].image.size+bytes))
	must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_UPDATE_DRIVE_SIZE, nil))
	must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil))
	must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_GROW_PARTITION,
		win32.GrowPartition{Number: 2, BytesToGrow: bytes}.Bytes()))
	v := firstData(n)
	return ioctl(n, strings.TrimSuffix(v.name(), `\`), win32.FSCTL_EXTEND_VOLUME,
		win32.ExtendVolume(v.length/v.disk.sectorSize()))
}

func TestToolsAcceptTheNTFS(t *testing.T) {
	sizes := []uint32{4096} // and those of 512 bytes in a long run: the scripts have them
	if stride() == 1 {
		sizes = append(sizes, 512)
	}
	for _, sectorSize := range sizes {
		s := smallScenario()
		s.Disks[0].SectorSize = sectorSize
		n := openNode(t, t.TempDir(), Options{Scenario: s})
		if sectorSize == 512 {
			wholeNTFS(t, n.volumeList()[1]) // drive C
		}
		v := formatted(t, n, oneDrive)
		for _, step := range []func() error{
			func() error { return nil },
			func() error { return growDisk(t, n, 130<<20) }, // more than a cluster of $Bitmap knows
			func() error { return growDisk(t, n, 1<<20) },
			func() error { return n.FormatVolume(v, "NTFS") }, // over what is there
		} {
			must(t, step())
			_, free, err := n.DiskFreeSpace(v)
			must(t, err)
			if unused := wholeNTFS(t, firstData(n)); free < unused || free-unused > 4*clusterSize { // $Bitmap grew
				t.Errorf("sectors of %d bytes: %d bytes are free, and the node says %d", sectorSize, unused, free)
			}
		}
	}
}
