// SPDX-License-Identifier: Apache-2.0

package winservice

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// LocalSystem is the account that may do anything on the node.
const LocalSystem = "LocalSystem"

// A Definition is how a service is installed.
type Definition struct {
	Name        string
	DisplayName string
	Description string
	// Command is the full path and arguments, stored quoted: C:\a b\c.exe without quotes would start C:\a.exe.
	Command []string
	Start   win32.ServiceStart
	Account string
	// PreShutdown is how long Windows waits for the service when it shuts down.
	PreShutdown time.Duration
	// Recovery is nil if Windows cannot tell.
	Recovery *Recovery
}

// Recovery is what Windows does when a service fails.
type Recovery struct {
	// Restart is how long Windows waits before it starts the service again, for each failure in turn, then the last.
	Restart []time.Duration
	// Reset is how long the service must run without failure for the next failure to count as the first.
	Reset time.Duration
	// OnError makes an exit with an error code count as a failure; otherwise only the death of the process does.
	OnError bool
}

func (r *Recovery) String() string {
	if r == nil {
		return "unknown"
	}
	if len(r.Restart) == 0 {
		return "none"
	}
	delays := make([]string, len(r.Restart))
	for i, d := range r.Restart {
		delays[i] = d.String()
	}
	text := "restart after " + strings.Join(delays, ", ")
	if r.Reset > 0 {
		text += fmt.Sprintf(", with the count reset after %v", r.Reset)
	}
	if !r.OnError {
		text += ", only after a crash"
	}
	return text
}

// differences returns, in words, how an installed service differs from the definition.
func (d Definition) differences(installed Definition) (list []string) {
	compare := func(what string, is, was any) {
		if is != was {
			list = append(list, fmt.Sprintf("%s: %v, was %v", what, is, was))
		}
	}
	compare("command", quote(d.Command), quote(installed.Command))
	compare("start", d.Start, installed.Start)
	if !strings.EqualFold(d.Account, installed.Account) {
		compare("account", d.Account, installed.Account)
	}
	compare("display name", d.DisplayName, installed.DisplayName)
	if installed.Recovery != nil {
		compare("recovery", d.Recovery.String(), installed.Recovery.String())
	}
	return list
}

// quote returns a command line for people.
func quote(command []string) string {
	shown := make([]string, len(command))
	for i, word := range command {
		if shown[i] = word; word == "" || strings.ContainsAny(word, " \t\"") {
			shown[i] = `"` + word + `"`
		}
	}
	return strings.Join(shown, " ")
}
