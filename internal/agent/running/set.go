// SPDX-License-Identifier: Apache-2.0

// Package running registers operations, kernel calls and API calls that are running, so that one that hangs shows.
package running

import (
	"container/list"
	"sync"
	"time"
)

// A Set holds values that each stand for something that is running. The zero value is empty and ready for use. A Set is
// safe for concurrent use and must not be copied.
type Set[T any] struct {
	mu      sync.Mutex
	entries list.List // of *Entry[T], the oldest first
}

// An Entry is a value's place in a Set, from Add to Remove.
type Entry[T any] struct {
	Since   time.Time // when it was added; never changes
	set     *Set[T]
	element *list.Element
	value   T
}

// Add puts a value into the set.
func (s *Set[T]) Add(value T) *Entry[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &Entry[T]{Since: time.Now(), set: s, value: value}
	e.element = s.entries.PushBack(e)
	return e
}

// Remove takes the entry out of its set and returns its last value. Removing it again changes nothing.
func (e *Entry[T]) Remove() T {
	e.set.mu.Lock()
	defer e.set.mu.Unlock()
	e.set.entries.Remove(e.element)
	return e.value
}

// Update changes the entry's value by a function. The function runs under the set's lock, so it must not call the set.
func (e *Entry[T]) Update(change func(value *T)) {
	e.set.mu.Lock()
	defer e.set.mu.Unlock()
	change(&e.value)
}

// Each calls a function for each entry, the oldest first. The function runs under the set's lock, so it must be quick,
// keep no pointer and not call the set.
func (s *Set[T]) Each(f func(since time.Time, value *T)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for element := s.entries.Front(); element != nil; element = element.Next() {
		e := element.Value.(*Entry[T])
		f(e.Since, &e.value)
	}
}
