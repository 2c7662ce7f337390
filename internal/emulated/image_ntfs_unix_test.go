// SPDX-License-Identifier: Apache-2.0

//go:build unix

package emulated

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/signature"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// tool runs a program of the host, which is of the package.
func tool(t *testing.T, from, name string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("require %s, of the package %s: hack/setup.sh test installs it", name, from)
	}
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// partitionFile copies the first and last MiB of a volume's partition, and its MFT, to a file of its own.
func partitionFile(t *testing.T, v *volume) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "partition")
	f, err := os.Create(name)
	must(t, err)
	defer f.Close()
	must(t, f.Truncate(v.Length))
	const mib = 1 << 20
	mft := int64(v.boot.MFTCluster) * int64(v.boot.ClusterBytes)
	for _, at := range []int64{0, mft, v.Length - mib} {
		b := make([]byte, min(mib, v.Length-at))
		_, err := v.disk.image.File.ReadAt(b, v.StartingOffset+at)
		must(t, err)
		_, err = f.WriteAt(b, at)
		must(t, err)
	}
	return name
}

func TestToolsKnowTheNTFS(t *testing.T) {
	for _, sectorSize := range []uint32{512, 4096} {
		s := smallScenario()
		s.Disks[0].SectorSize = sectorSize
		n := openNode(t, t.TempDir(), Options{Scenario: s})
		name := formatted(t, n, oneDrive)
		for _, step := range []func() error{
			func() error { return nil },
			func() error { return growDisk(t, n, 130<<20) },
			func() error { return n.FormatVolume(name, "NTFS") },
		} {
			must(t, step())
			part := partitionFile(t, firstData(n))
			if out := tool(t, "util-linux", "blkid", "-p", "-s", "TYPE", "-o", "value", part); out != "ntfs\n" {
				t.Errorf("blkid: %q", out)
			}
			if out := tool(t, "file", "file", part); !strings.Contains(out, `OEM-ID "NTFS    "`) {
				t.Errorf("file: %s", out)
			}
			v, sector := firstData(n), make([]byte, sectorSize)
			for at, want := range map[int64]string{
				0: "an NTFS file system", v.Length - int64(sectorSize): "the backup boot sector of an NTFS file system",
			} {
				_, err := v.disk.image.File.ReadAt(sector, v.StartingOffset+at)
				must(t, err)
				if got := signature.Describe(sector, at); got != want {
					t.Errorf("the agent takes the sector at %d for %q", at, got)
				}
			}
		}
	}
}

// growDisk makes disk 1, its data partition and, if it can, the file system there larger.
func growDisk(t *testing.T, n *Node, bytes int64) error {
	t.Helper()
	must(t, n.GrowDisk(1, n.disks[1].image.Size+bytes))
	must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_UPDATE_DRIVE_SIZE, nil))
	must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil))
	must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_GROW_PARTITION,
		win32.GrowPartition{Number: 2, BytesToGrow: bytes}.Bytes()))
	v := firstData(n)
	return ioctl(n, strings.TrimSuffix(v.name(), `\`), win32.FSCTL_EXTEND_VOLUME,
		win32.ExtendVolume(v.Length/v.disk.sectorSize()))
}

// The node reads the NTFS of mkntfs as it reads its own. It does not extend it, because its $Bitmap would be too short.
func TestForeignNTFSIsReadAndNotExtended(t *testing.T) {
	n := openNode(t, t.TempDir(), Options{Scenario: smallScenario()})
	formatted(t, n, oneDrive)
	v := firstData(n)
	own := v.boot
	theirs := filepath.Join(t.TempDir(), "theirs")
	must(t, os.WriteFile(theirs, nil, 0o600))
	must(t, os.Truncate(theirs, v.Length))
	tool(t, "ntfs-3g", "mkntfs", "-q", "-F", "-Q", theirs)
	content, err := os.ReadFile(theirs)
	must(t, err)
	_, err = v.disk.image.File.WriteAt(content, v.StartingOffset)
	must(t, err)
	must(t, v.disk.refresh())
	got := firstData(n).boot
	own.Serial, own.MFTCluster = got.Serial, got.MFTCluster
	if got != own {
		t.Errorf("it is read as %+v, our own as %+v", got, own)
	}
	if err := growDisk(t, n, 130<<20); !errors.Is(err, win32.ERROR_NOT_SUPPORTED) {
		t.Errorf("extending it: %v", err)
	}
	if after := firstData(n).boot; after != got {
		t.Errorf("it was changed: %+v", after)
	}
}
