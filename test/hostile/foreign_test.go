// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// Foreign disks are as other systems' own tools leave them: testdata/foreign/make.sh made them and tools.txt names the
// tools. Formats whose tools need their own kernel are written by their documents, and blkid confirms them.

// foreignDisks returns the paths of unpacked images by name: of all, or of a sample.
func foreignDisks(t *testing.T, subject int) map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "foreign", "foreign.tar.gz"))
	noError(t, err)
	defer f.Close()
	packed, err := gzip.NewReader(f)
	noError(t, err)
	dir := t.TempDir()
	images := map[string]string{}
	number := 0
	add := func(name string, fill func(path string) error) {
		if number++; testnode.Sampled(t, number, subject, 12) {
			images[name] = filepath.Join(dir, name)
			noError(t, fill(images[name]))
		}
	}
	for archive := tar.NewReader(packed); ; {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		noError(t, err)
		if entry.Typeflag != tar.TypeDir {
			add(filepath.Base(entry.Name), func(path string) error { return unpack(path, archive, entry.Size) })
		}
	}
	documented := documentedDisks()
	for _, name := range slices.Sorted(maps.Keys(documented)) {
		add(name, func(path string) error {
			write(t, path, 0, diskBytes, documented[name])
			return os.Truncate(path, diskBytes)
		})
	}
	return images
}

// unpack writes a sparse file.
func unpack(path string, content io.Reader, size int64) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	buffer, zeros := make([]byte, 64<<10), make([]byte, 64<<10)
	for at := int64(0); at < size; {
		n, err := io.ReadFull(content, buffer[:min(int64(len(buffer)), size-at)])
		if err != nil {
			return errors.Join(err, out.Close())
		}
		if !bytes.Equal(buffer[:n], zeros[:n]) {
			if _, err := out.WriteAt(buffer[:n], at); err != nil {
				return errors.Join(err, out.Close())
			}
		}
		at += int64(n)
	}
	return errors.Join(out.Truncate(size), out.Close())
}

// wiped are the recorded disks that leave enough behind when both ends are zeroed, with how much is zeroed.
func wiped() map[string]int64 {
	const mib = 1 << 20
	return map[string]int64{
		"ext2": mib, "ext3": mib, "ext4": mib, "ext4-4k": 4 * mib, "ext4-sparse2": 4 * mib, "gpt-ext4": mib, "xfs": 4 * mib,
		"btrfs": 4 * mib, "ntfs": 4 * mib, "f2fs": mib, "gfs2": 4 * mib, "exfat": mib,
	}
}

// TestForeignDisks: no disk that another system has formatted is touched, whatever its sectors and its state.
func TestForeignDisks(t *testing.T) {
	g := attack(t, testnode.Options{})
	images := foreignDisks(t, 0)
	for name, edge := range wiped() {
		if image, ok := images[name]; ok {
			images[name+", wiped"] = image + ", wiped"
			noError(t, wipeEnds(image, image+", wiped", edge))
		}
	}
	number := 0
	for i, name := range slices.Sorted(maps.Keys(images)) {
		image := images[name]
		for j, spec := range []emulated.DiskSpec{{SectorSize: 512}, {SectorSize: 4096, Offline: true},
			{SectorSize: 512, Offline: true}, {SectorSize: 4096}} {
			if testnode.Sampled(t, j, i, 4) {
				number++
				spec.ImagePath, spec.LUNAuto = image, true
				image = g.leftAlone(fmt.Sprintf("%s, sectors of %d bytes, offline=%t", name, spec.SectorSize, spec.Offline), spec)
			}
		}
		noError(t, os.Remove(image))
	}
	t.Logf("%d foreign disks", number)
	if testnode.All() && number < 136 {
		t.Errorf("only %d foreign disks", number)
	}
	g.alive()
}

// wipeEnds copies an image without its first and last bytes.
func wipeEnds(image, to string, edge int64) error {
	content, err := os.ReadFile(image)
	if err != nil {
		return err
	}
	clear(content[:edge])
	clear(content[int64(len(content))-edge:])
	return unpack(to, bytes.NewReader(content), int64(len(content)))
}

// leftAlone has a foreign disk partitioned: it is refused, or keeps the partitions that it has. It returns the detached
// disk's image.
func (g *target) leftAlone(name string, spec emulated.DiskSpec) (image string) {
	g.t.Helper()
	number, err := g.Emulated.AttachDisk(spec)
	noError(g.t, err)
	before := g.snapshot()
	_, err = g.Disk.PartitionDisk(g.t.Context(), &disk.PartitionDiskRequest{DiskNumber: number})
	if code := codeOf(err); code != codes.FailedPrecondition && code != codes.OK {
		g.t.Errorf("PartitionDisk of %s: %v", name, err)
	}
	g.unchanged("PartitionDisk of "+name, before)
	detached, err := g.Emulated.DetachDisk(number)
	noError(g.t, err)
	image = filepath.Join(g.t.TempDir(), "image") // without what the bundle says of its sectors
	noError(g.t, os.Rename(detached, image))
	return image
}

// TestForeignVolumes: no volume that another system has formatted is formatted, and neither is an NTFS of another tool.
func TestForeignVolumes(t *testing.T) {
	g := attack(t, testnode.Options{})
	// which is another one in a larger volume
	atTheEnd := []string{"mdadm 0.90", "mdadm 1.0", "mdadm ddf", "mdadm imsm", "drbd"}
	images := foreignDisks(t, 1)
	for _, name := range slices.Sorted(maps.Keys(images)) {
		if slices.Contains(atTheEnd, name) {
			continue
		}
		number, err := g.Emulated.AttachDisk(emulated.DiskSpec{SizeBytes: 1 << 30, LUNAuto: true})
		noError(t, err)
		_, err = g.Disk.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: number})
		noError(t, err)
		offset, _ := g.dataPartition(number)
		image, err := g.Emulated.DetachDisk(number)
		noError(t, err)
		noError(t, copyInto(image, offset, images[name]))
		number, err = g.Emulated.AttachDisk(emulated.DiskSpec{ImagePath: image, LUNAuto: true})
		noError(t, err)
		id := g.volumes(number)[0]
		_, err = g.Volume.GetVolumeStats(t.Context(), &volume.GetVolumeStatsRequest{VolumeId: id}) // mounts an NTFS
		noError(t, err)
		before := g.snapshot()
		_, err = g.Volume.FormatVolume(t.Context(), &volume.FormatVolumeRequest{VolumeId: id})
		if code := codeOf(err); code != codes.FailedPrecondition && !(name == "ntfs" && code == codes.OK) {
			t.Errorf("FormatVolume of a volume with %s: %v", name, err)
		}
		g.unchanged("FormatVolume of a volume with "+name, before)
		image, err = g.Emulated.DetachDisk(number)
		noError(t, err)
		noError(t, os.Remove(image))
	}
	g.alive()
}

// copyInto copies the content of an image into another one, at an offset.
func copyInto(image string, offset int64, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(image, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	var failed error
	err = eachExtent(in, func(at int64, data []byte) {
		_, err := out.WriteAt(data, offset+at)
		failed = errors.Join(failed, err)
	})
	return errors.Join(err, failed, out.Close())
}
