// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The limits are promises of docs/security.md.
func TestDefaultsAreThoseOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	l := Limits{}.complete()
	for _, row := range []string{
		fmt.Sprintf("| calls that run | %d, of one process %d |", l.Calls, l.ClientCalls),
		fmt.Sprintf("| waiting calls of a process | %d |", l.ClientWaiting),
		fmt.Sprintf("| connections | %d, of one process %d |", l.Connections, l.ClientConnections),
		fmt.Sprintf("reflection streams | %d, of one process %d,", l.Streams, l.ClientStreams),
		fmt.Sprintf("| %d MiB, of one process %d MiB |", l.Bytes>>20, l.ClientBytes>>20),
		fmt.Sprintf("| goroutines that wait for a processor | %d for each processor |", l.Runnable),
		fmt.Sprintf("connections are gone | %d |", l.Handlers),
		fmt.Sprintf("| %.0f s without any progress |", l.Unread.Seconds()),
	} {
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/security.md lacks %q, which the code has", row)
		}
	}
}
