// SPDX-License-Identifier: Apache-2.0

package operation

// Observer is told the progress of operations, for metrics. The operation is the name of a method, such
// as "MountVolume", without arguments, so there are as many names as there are verbs. An Observer is called by
// many goroutines at once, some of which hold locks: it must be quick and must not call the Runner.
type Observer func(operation string, event Event)

// Event is a step of an operation. An operation is Queued, then either Begun and in the end Ended, or Dropped. Joined
// and GaveUp are about callers, of which one operation can have many.
type Event int

const (
	// Queued means that an operation waits for its locks, while others work on the same disk, volume or path.
	Queued Event = iota + 1
	// Begun means that it has its locks. From now on it runs to its end, even if no caller waits for it.
	Begun
	// Ended means that an operation that had begun is over, successful or not, and its locks are free.
	Ended
	// Dropped means that an operation was cancelled before it began, because no caller waited for it any more.
	Dropped
	// Joined means that a caller waits for an identical operation instead of having one of its own.
	Joined
	// GaveUp means that a caller's deadline ended, or the caller cancelled, before its operation was over.
	GaveUp
)

// tell tells the observer, if there is one.
func (r *Runner) tell(request Request, event Event) {
	if r.config.Observer != nil {
		r.config.Observer(request.Verb, event)
	}
}
