// SPDX-License-Identifier: Apache-2.0

package journal

// running is a call, in a list of such while it has not ended.
type running struct {
	entry          Entry
	previous, next *running
}

// list is the running calls. It is linked through them, as calls come and go at every kernel call and are looked at
// only when somebody reads the journal.
type list struct{ first *running }

func (l *list) add(r *running) {
	r.next = l.first
	if r.next != nil {
		r.next.previous = r
	}
	l.first = r
}

func (l *list) remove(r *running) {
	if r.previous != nil {
		r.previous.next = r.next
	} else {
		l.first = r.next
	}
	if r.next != nil {
		r.next.previous = r.previous
	}
	r.previous, r.next = nil, nil
}
