// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/recording"
)

// An Accepted is a kind of difference that may stay. Fault tells whose it is: that of the recorded host, which is not
// Windows, or the node's, which is known to be other than Windows there.
type Accepted struct {
	Host string // recording.Wine and so on
	Difference
	Fault  string // "host" or "node"
	Reason string
	used   bool
}

// The values of Fault.
const (
	hostsFault = "host"
	nodesFault = "node"
)

// ReadAccepted reads accepted.txt: a difference a line, its six parts and the reason separated by |. A field * is any.
func ReadAccepted(from io.Reader) (all []*Accepted, err error) {
	lines := bufio.NewScanner(from)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.SplitN(line, "|", 7)
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		if len(parts) != 7 || parts[6] == "" || parts[5] != hostsFault && parts[5] != nodesFault {
			return nil, fmt.Errorf("line %d: not host | kind | what | recorded | emulated | host or node | reason", number)
		}
		all = append(all, &Accepted{parts[0], Difference{parts[1], parts[2], parts[3], parts[4]}, parts[5], parts[6], false})
	}
	return all, lines.Err()
}

// accept returns the line that accepts a difference, nil if none does.
func accept(all []*Accepted, h recording.Header, d Difference) *Accepted {
	fits := func(pattern, s string) bool { return pattern == "*" || pattern == s }
	for _, a := range all {
		if a.Host == h.Host && a.Kind == d.Kind && fits(a.What, d.What) && fits(a.Recorded, d.Recorded) &&
			fits(a.Emulated, d.Emulated) {
			a.used = true
			return a
		}
	}
	return nil
}
