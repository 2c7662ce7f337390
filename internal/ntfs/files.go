// SPDX-License-Identifier: Apache-2.0

package ntfs

import "time"

// The numbers of the files that Grow looks at, and of the root directory. From 12 to 15 records are in use and have no
// name, from 16 to 23 they are free and remain so.
const (
	fileLog     = 2
	fileVolume  = 3
	fileRoot    = 5
	fileBitmap  = 6
	fileBadClus = 8
	firstUnused = 16
)

// The attributes of files.
const (
	attributesSystem    = 6          // hidden, system
	attributesDirectory = 0x10000000 // in $FILE_NAME only
	attributesView      = 0x20000000 // of a file with indexes of other things
)

// file is a file of the metadata.
type file struct {
	name       string
	flags      uint16 // of its record
	attributes uint32
	security   uint32
	data       run
	size       int64         // of the data
	more       func(*record) // adds the other attributes
}

// files returns the files of the metadata by their numbers.
func (v Volume) files(p places, sdsBytes int64, bySum, byNumber [][]byte) []file {
	clusters := v.clusters()
	return []file{
		{name: "$MFT", data: p.mft, size: p.mft.count * ClusterSize, more: func(r *record) {
			r.outside(typeBitmap, "", []run{p.mftBitmap}, 8, 8)
		}},
		{name: "$MFTMirr", data: p.mirror, size: p.mirror.count * ClusterSize},
		{name: "$LogFile", data: p.log, size: p.log.count * ClusterSize},
		{name: "$Volume", more: func(r *record) {
			r.resident(typeVolumeName, "", nil)
			r.resident(typeVolumeInformation, "", []byte{8: 3, 9: 1, 11: 0}) // version 3.1; no flags: it is clean
			r.resident(typeData, "", nil)
		}},
		{name: "$AttrDef", data: p.attrDef, size: int64(len(attrDef()))},
		{name: ".", flags: recordDirectory, attributes: attributesDirectory, security: securityRoot, more: func(r *record) {
			r.resident(typeIndexRoot, "$I30", indexRoot(typeFileName, collateFileNames, true))
			r.outside(typeIndexAllocation, "$I30", []run{p.rootIndex}, indexBlock, indexBlock)
			r.resident(typeBitmap, "$I30", []byte{1, 7: 0})
		}},
		{name: "$Bitmap", data: p.bitmap, size: bitmapBytes(clusters)},
		{name: "$Boot", data: p.boot, size: bootBytes},
		{name: "$BadClus", more: func(r *record) {
			r.resident(typeData, "", nil)
			r.outside(typeData, "$Bad", []run{{hole, clusters}}, clusters*ClusterSize, 0)
		}},
		{name: "$Secure", flags: recordViewIndex, attributes: attributesView, more: func(r *record) {
			r.outside(typeData, "$SDS", []run{p.secure}, sdsBytes, sdsBytes)
			r.resident(typeIndexRoot, "$SDH", indexRoot(0, collateSecurityHash, false, bySum...))
			r.resident(typeIndexRoot, "$SII", indexRoot(0, collateNumbers, false, byNumber...))
		}},
		{name: "$UpCase", data: p.upCase, size: upCaseBytes},
		{name: "$Extend", flags: recordDirectory, attributes: attributesDirectory, more: func(r *record) {
			r.resident(typeIndexRoot, "$I30", indexRoot(typeFileName, collateFileNames, false))
		}},
	}
}

// standardInformation returns the value of $STANDARD_INFORMATION.
func (f file) standardInformation(now time.Time) []byte {
	b := make([]byte, 72)
	putTimes(b, now)
	le.PutUint32(b[32:], attributesSystem|f.attributes&attributesView)
	le.PutUint32(b[52:], max(f.security, securitySystemFile))
	return b
}

// fileName returns the value of $FILE_NAME. The root directory has a copy of it.
func (f file) fileName(now time.Time) []byte {
	b := make([]byte, 66)
	le.PutUint64(b, reference(fileRoot))
	putTimes(b[8:], now)
	le.PutUint64(b[40:], uint64(f.data.count*ClusterSize))
	le.PutUint64(b[48:], uint64(f.size))
	le.PutUint32(b[56:], attributesSystem|f.attributes)
	name := utf16Bytes(f.name)
	b[64] = byte(len(name) / 2)
	b[65] = 3 // a name for Windows and for DOS
	return append(b, name...)
}

// putTimes writes the four times of a file, in 100 ns since 1601.
func putTimes(b []byte, now time.Time) {
	const until1970 = 11644473600
	for i := range 4 {
		le.PutUint64(b[i*8:], uint64((now.Unix()+until1970)*1e7+int64(now.Nanosecond()/100)))
	}
}
