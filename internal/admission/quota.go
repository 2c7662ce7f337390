// SPDX-License-Identifier: Apache-2.0

package admission

// A quota is a number of places for which clients compete, and how many of them one may have.
type quota struct{ all, client int }

// leastShare is how many places a process may have as long as any are free: a driver whose call hangs has others to make.
const leastShare = 4

// crowded reports whether the places have become scarce.
func (q quota) crowded(taken int) bool { return 2*taken >= q.all }

// share returns how many places a process and a container may have. While they are plenty, that is what the limit says.
// When half of them are taken, perhaps for ever, it is a 64th and a 16th of the free ones: whoever starts many processes gets
// ever less, and places are left for the next process that has few.
func (q quota) share(taken int) (process, container int) {
	if !q.crowded(taken) {
		return q.client, q.client
	}
	free := q.all - taken
	return min(q.client, max(leastShare, free/64)), min(q.client, max(4*leastShare, free/16))
}

// reserve is how many places are only for processes that were there before the others were taken. It is an eighth: processes
// that come one after the other, take places and end, cannot be told from each other, and would have them all in the end.
func (q quota) reserve() int { return q.all / 8 }
