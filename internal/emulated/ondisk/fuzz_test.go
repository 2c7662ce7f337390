// SPDX-License-Identifier: Apache-2.0

package ondisk

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func FuzzParseBootSector(f *testing.F) {
	for _, size := range []uint32{512, 4096} {
		f.Add(newBootSector(int64(size), 2048, 19999, 800), uint16(20000))
	}
	f.Add(make([]byte, 512), uint16(1))
	f.Add(newBootSector(512, 2048, 1<<63-8, 800), uint16(20000))
	f.Fuzz(func(t *testing.T, sector []byte, sectors uint16) {
		for _, size := range []uint32{512, 4096} {
			sector := append(sector, make([]byte, size)...)[:size]
			b, ok := ParseBootSector(sector, uint64(sectors))
			if b.FileSystem == "" {
				continue
			}
			total, metadata := b.Clusters()*uint64(b.ClusterBytes), b.MetadataBytes()
			if total > uint64(sectors)*uint64(size) || ok && metadata > total+uint64(b.ClusterBytes)*8 {
				t.Errorf("%+v: %d bytes, %d of them metadata, in %d sectors", b, total, metadata, sectors)
			}
		}
	})
}

func FuzzParseMBR(f *testing.F) {
	one := win32.Partition{MBRType: 7, StartingOffset: 2048 * 512, Length: 1000 * 512}
	f.Add((&MBR{Signature: 1, Partitions: [4]win32.Partition{one}}).Encode(make([]byte, 512)))
	f.Add(make([]byte, 512))
	f.Fuzz(func(t *testing.T, sector []byte) {
		sector = append(sector, make([]byte, max(0, 512-len(sector)))...)[:512]
		m, protective, ok := parseMBR(sector, 512<<20)
		if !ok || protective {
			return
		}
		again, _, _ := parseMBR(m.Encode(sector), 512<<20)
		if diff := cmp.Diff(m, again); diff != "" {
			t.Errorf("read again (-want +got):\n%s", diff)
		}
	})
}
