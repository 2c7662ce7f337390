// SPDX-License-Identifier: Apache-2.0

package ntfs_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/ntfs"
)

const mib = 1 << 20

func volumeOf(size int64, sector uint32) ntfs.Volume {
	return ntfs.Volume{SectorSize: sector, Sectors: uint64(size)/uint64(sector) - 1, Hidden: 2048,
		Serial: 0x1122334455667788}
}

func formatted(t *testing.T, size int64, sector uint32) string {
	t.Helper()
	image := newImage(t, size)
	write(t, image, volumeOf(size, sector).Format(time.Now()))
	return image
}

func TestToolsAcceptTheFormat(t *testing.T) {
	for _, sector := range []uint32{512, 4096} {
		sizes := []int64{mib, 100*mib + 3*4096}
		if os.Getenv("CSI_PROXY_LONG") != "" {
			sizes = append(sizes, 8*mib, 64<<30)
		}
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%d bytes in sectors of %d", size, sector), func(t *testing.T) {
				image := formatted(t, size, sector)
				intact(t, image)
				free, all := number(t, image, "Free Clusters"), number(t, image, "Volume Size in Clusters")
				mft := number(t, image, "LCN of Data Attribute for FILE_MFT")
				if all != (size/int64(sector)-1)*int64(sector)/ntfs.ClusterSize {
					t.Errorf("it has %d clusters", all)
				}
				if used := int64(ntfs.MetadataBytes(uint64(mft), ntfs.ClusterSize)) / ntfs.ClusterSize; size >= 8*mib &&
					free != all-used {
					t.Errorf("%d of %d clusters are free; all but %d should be", free, all, used)
				}
			})
		}
	}
}

// The descriptors, names, and tables are those that the tools know.
func TestToolsReadTheFiles(t *testing.T) {
	image, theirs := formatted(t, 64*mib, 512), mkntfs(t, 64*mib)
	for _, file := range []string{"4", "10"} { // $AttrDef, $UpCase
		if ours := fileOf(t, image, file); ours == "" || ours != fileOf(t, theirs, file) {
			t.Errorf("file %s is not that of mkntfs", file)
		}
	}
	if out := tool(t, "ntfssecaudit", "-a", image); !strings.Contains(out, "2 valid entries in $SDH") ||
		!strings.Contains(out, "No errors were found") {
		t.Errorf("ntfssecaudit -a:\n%s", out)
	}
	sds := fileOf(t, image, "9", "-n", "$SDS")
	if half := 256 << 10; len(sds) <= half || !strings.HasPrefix(sds, sds[half:]) ||
		strings.Trim(sds[len(sds)-half:half], "\x00") != "" {
		t.Errorf("$SDS of %d bytes is not followed by its copy", len(sds))
	}
	if out := tool(t, "ntfsinfo", "-v", "-i", "5", image); !strings.Contains(out, "257 (0x101)") {
		t.Errorf("the root directory has another descriptor:\n%s", out)
	}
	for _, name := range strings.Fields(
		"$AttrDef $BadClus $Bitmap $Boot $Extend $LogFile $MFT $MFTMirr $Secure $UpCase $Volume") {
		tool(t, "ntfsinfo", "-F", name, image) // it looks the name up in the directory's index
	}
	if got := tool(t, "ntfsls", "-a", "-s", image); len(strings.Fields(got)) != 13 { // and . and ..
		t.Errorf("ntfsls -a -s:\n%s", got)
	}
}

// What was there before does not show through.
func TestFormatOverOtherContent(t *testing.T) {
	image := newImage(t, mib)
	must(t, os.WriteFile(image, bytes.Repeat([]byte{0xA5}, mib), 0o600))
	blocks := volumeOf(mib, 512).Format(time.Now())
	write(t, image, blocks)
	intact(t, image)
	over, err := os.ReadFile(image)
	must(t, err)
	blank := newImage(t, mib)
	write(t, blank, blocks)
	want, err := os.ReadFile(blank)
	must(t, err)
	if front := 39 * ntfs.ClusterSize; !bytes.Equal(over[:front], want[:front]) {
		t.Error("behind the end of a file there is something old")
	}
}

func TestBlocksOfALargeVolume(t *testing.T) {
	const size = 16<<40 - 32*mib
	v := volumeOf(size, 512)
	blocks := v.Format(time.Unix(0, 0))
	var data, end int64
	for _, b := range blocks {
		data, end = data+int64(len(b.Data)), max(end, b.Offset+b.Size)
	}
	if last := blocks[len(blocks)-1]; last.Offset != 0 || end != size || data > mib {
		t.Errorf("%d bytes of data, up to %d; the last block is at %d", data, end, last.Offset)
	}
}
