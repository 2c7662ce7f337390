// SPDX-License-Identifier: Apache-2.0

package winservice

import "strings"

// Ids of the records in the Windows Event Log, at most 1000: EventCreate.exe has message templates for these. Alerts
// depend on them, so the meaning of an id never changes.
const (
	EventStarted     = 1  // every endpoint accepts calls
	EventStopping    = 2  // told to stop; running operations may end
	EventStopped     = 3  // stopped cleanly
	EventCutOff      = 4  // stopped, with operations still running
	EventStartFailed = 10 // the service could not start
	EventFailed      = 11 // the service could not go on
)

// Events is the Event Log, where an administrator looks when a service does not run. A record that fails is lost: a
// service runs without the log too.
type Events interface {
	Info(id uint32, text string) error
	Warning(id uint32, text string) error
	Error(id uint32, text string) error
}

// longestEvent is the maximal length of a record's text, in bytes; Windows' own limit is 31,839 characters.
const longestEvent = 30000

// eventText returns a text fit for a record: without NULs, which would end it, and not too long.
func eventText(text string) string {
	text = strings.ReplaceAll(text, "\x00", "")
	if len(text) > longestEvent {
		text = text[:longestEvent] + "…"
	}
	return strings.ToValidUTF8(text, "")
}
