// SPDX-License-Identifier: Apache-2.0

package ntfs

import "errors"

// run is a number of clusters that follow each other on the volume.
type run struct {
	first int64 // hole: they are nowhere, and read as zeros
	count int64
}

const hole = -1

var errRuns = errors.New("a list of cluster runs is damaged")

func clustersIn(runs []run) (count int64) {
	for _, r := range runs {
		count += r.count
	}
	return count
}

// encodeRuns returns the runs as mapping pairs: for each the sizes of two little-endian numbers in one byte, then the
// numbers, the length of the run and the distance from the run before.
func encodeRuns(runs []run) []byte {
	var b []byte
	var last int64
	for _, r := range runs {
		length := signedBytes(r.count)
		var distance []byte
		if r.first != hole {
			distance = signedBytes(r.first - last)
			last = r.first
		}
		b = append(b, byte(len(distance)<<4|len(length)))
		b = append(append(b, length...), distance...)
	}
	return append(b, 0)
}

// signedBytes returns a number in as few bytes as keep its sign.
func signedBytes(n int64) (b []byte) {
	for {
		b = append(b, byte(n))
		rest := n >> 8
		if rest == int64(int8(b[len(b)-1])>>7) {
			return b
		}
		n = rest
	}
}

// decodeRuns reads mapping pairs of runs that lie within a number of clusters.
func decodeRuns(b []byte, clusters int64) ([]run, error) {
	var runs []run
	var last int64
	for len(b) > 0 && b[0] != 0 {
		lengthBytes, distanceBytes := int(b[0]&15), int(b[0]>>4)
		if lengthBytes < 1 || lengthBytes > 8 || distanceBytes > 8 || len(b) < 1+lengthBytes+distanceBytes {
			return nil, errRuns
		}
		r := run{hole, signed(b[1 : 1+lengthBytes])}
		if distanceBytes > 0 {
			last += signed(b[1+lengthBytes : 1+lengthBytes+distanceBytes])
			r.first = last
			if r.first < 0 || r.first > clusters {
				return nil, errRuns
			}
		}
		if r.count < 1 || r.count > clusters || r.first != hole && r.first > clusters-r.count {
			return nil, errRuns
		}
		runs = append(runs, r)
		b = b[1+lengthBytes+distanceBytes:]
	}
	if len(b) == 0 || clustersIn(runs) > clusters {
		return nil, errRuns
	}
	return runs, nil
}

// signed reads a little-endian number of 1 to 8 bytes.
func signed(b []byte) int64 {
	n := int64(int8(b[len(b)-1]))
	for i := len(b) - 2; i >= 0; i-- {
		n = n<<8 | int64(b[i])
	}
	return n
}
