// SPDX-License-Identifier: Apache-2.0

package ondisk

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzParseBootSector(f *testing.F) {
	for _, size := range []uint32{512, 4096} {
		f.Add(newBootSector(int64(size), 2048, 19999, 800), uint16(20000))
	}
	f.Add(make([]byte, 512), uint16(1))
	f.Add(newBootSector(512, 2048, 1<<63-8, 800), uint16(20000))
	f.Fuzz(func(t *testing.T, sector []byte, sectors uint16) {
		for _, size := range []uint32{512, 4096} {
			b, ok := ParseBootSector(sector, size, uint64(sectors))
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
	f.Add(MBR{Signature: 1, Partitions: []MBRPartition{{Kind: 7, First: 2048, Sectors: 1000}}}.Encode(make([]byte, 512)))
	f.Add(make([]byte, 512))
	f.Fuzz(func(t *testing.T, sector []byte) {
		m, protective, ok := ParseMBR(sector, 1<<20)
		if !ok || protective {
			return
		}
		again, _, _ := ParseMBR(m.Encode(sector), 1<<20)
		if diff := cmp.Diff(m, again); diff != "" {
			t.Errorf("read again (-want +got):\n%s", diff)
		}
	})
}
