// SPDX-License-Identifier: Apache-2.0

package ntfs

// ClusterSize is Windows' default for volumes of up to 16 TiB, and that of the file systems that Format makes.
const ClusterSize = 4096

// Volume describes a file system to make. It has no label.
type Volume struct {
	SectorSize uint32 // 512 or 4096
	Sectors    uint64 // without the backup of the boot sector, which follows the last one
	Hidden     uint64 // sectors before the volume
	Serial     uint64
}

// Block is a number of bytes of a volume to write: the data, then zeros.
type Block struct {
	Offset int64
	Size   int64
	Data   []byte
}

// places is where the metadata of a new file system is. What does not depend on the volume's size comes first, the MFT
// at a third of the volume, and what is large after it.
type places struct {
	boot, mirror, mftBitmap, rootIndex, attrDef, upCase, bitmap run
	mft, secure, log                                            run
}

const (
	bootBytes    = 8192
	mftRecords   = 24        // as many as are reserved
	mirrored     = 4         // of them have a copy
	sdsCopy      = 256 << 10 // each part of $SDS is followed by its copy, this far away
	firstMFTMost = 3 << 30 / ClusterSize
)

func (v Volume) clusters() int64 { return int64(v.Sectors / uint64(ClusterSize/v.SectorSize)) }

// recordSize returns the size of a file record: 1 KiB, or a sector.
func (v Volume) recordSize() int { return max(1024, int(v.SectorSize)) }

func (v Volume) places() places {
	var p places
	next := int64(0)
	take := func(r *run, bytes int64) {
		r.first, r.count = next, (bytes+ClusterSize-1)/ClusterSize
		next += r.count
	}
	record := int64(v.recordSize())
	take(&p.boot, bootBytes)
	take(&p.mirror, mirrored*record)
	take(&p.mftBitmap, 1)
	take(&p.rootIndex, indexBlock)
	take(&p.attrDef, 1)
	take(&p.upCase, upCaseBytes)
	take(&p.bitmap, bitmapBytes(v.clusters()))
	front := next
	next = min(v.clusters()/3, firstMFTMost)
	p.mft.first = next
	take(&p.mft, mftRecords*record)
	take(&p.secure, sdsCopy+1)
	rest := int64(MetadataBytes(uint64(p.mft.first), ClusterSize)) - (front+next-p.mft.first)*ClusterSize
	take(&p.log, max(rest, logMinimum))
	return p
}

// used returns the clusters that are not free.
func (p places) used() []run {
	front := p.bitmap.first + p.bitmap.count
	return []run{{0, front}, {p.mft.first, p.log.first + p.log.count - p.mft.first}}
}

// MetadataBytes returns the space that the metadata of an empty file system takes, by the place of the MFT, which stays
// when the volume grows: an eighth of the volume, and not more than 16 MiB. Format makes $LogFile so large that it is
// true, unless the volume is smaller than 8 MiB or larger than 400 GiB.
func MetadataBytes(mftCluster uint64, clusterBytes uint32) uint64 {
	whole := mftCluster * 3 * uint64(clusterBytes)
	return min(16<<20, whole/8) / uint64(clusterBytes) * uint64(clusterBytes)
}
