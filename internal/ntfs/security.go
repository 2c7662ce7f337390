// SPDX-License-Identifier: Apache-2.0

package ntfs

import "math/bits"

// The numbers of the security descriptors in $Secure.
const (
	securitySystemFile = 0x100
	securityRoot       = 0x101
)

// secureStreams returns the content of $Secure: the entries of $SDS, which follow each other on 16-byte boundaries, and
// the indexes $SDH by hash and $SII by number.
func secureStreams() (sds []byte, bySum, byNumber [][]byte) {
	const read, full, inherited = 0x120089, 0x1F01FF, 3 // inherited by files and directories
	for i, descriptor := range [][]byte{securityDescriptor(read, 0), securityDescriptor(full, inherited)} {
		header := make([]byte, 20)
		le.PutUint32(header, securityHash(descriptor))
		le.PutUint32(header[4:], uint32(securitySystemFile+i))
		le.PutUint64(header[8:], uint64(len(sds)))
		le.PutUint32(header[16:], uint32(len(header)+len(descriptor)))
		sds = append(append(sds, header...), descriptor...)
		sds = append(sds, make([]byte, align(len(sds), 16)-len(sds))...)
		byNumber = append(byNumber, viewEntry(header[4:8], header))
		entry := viewEntry(header[:8], header)
		copy(entry[len(entry)-4:], "I\x00I\x00") // as Windows pads these
		bySum = append(bySum, entry)
	}
	if le.Uint32(bySum[0][16:]) > le.Uint32(bySum[1][16:]) {
		bySum[0], bySum[1] = bySum[1], bySum[0]
	}
	return sds, bySum, byNumber
}

// securityDescriptor returns a self-relative descriptor that allows the access to Administrators, who own what has it,
// and to the system.
func securityDescriptor(access uint32, inherited byte) []byte {
	administrators := []byte{1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 0x20, 2, 0, 0} // S-1-5-32-544
	system := []byte{1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0}                        // S-1-5-18
	const header = 20
	list := []byte{2, 0, 0, 0, 2, 0, 0, 0}
	for _, sid := range [][]byte{administrators, system} {
		list = le.AppendUint32(append(list, 0, inherited, byte(8+len(sid)), 0), access)
		list = append(list, sid...)
	}
	le.PutUint16(list[2:], uint16(len(list)))
	d := make([]byte, header)
	d[0] = 1
	le.PutUint16(d[2:], 0x8004) // self-relative, with a list
	le.PutUint32(d[4:], uint32(header+len(list)))
	le.PutUint32(d[8:], uint32(header+len(list)))
	le.PutUint32(d[16:], header)
	return append(append(d, list...), administrators...)
}

// securityHash returns the sum by which $SDH finds a descriptor.
func securityHash(descriptor []byte) (sum uint32) {
	for i := 0; i+4 <= len(descriptor); i += 4 {
		sum = bits.RotateLeft32(sum, 3) + le.Uint32(descriptor[i:])
	}
	return sum
}
