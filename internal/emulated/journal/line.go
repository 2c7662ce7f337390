// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"cmp"
	"fmt"
	"strings"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/printable"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/terminal"
)

// maxLineResponse limits the bytes of a response on a line. Lists of disks are longer than a person reads.
const maxLineResponse = 200

// Line returns an entry as text for people, without a line end. Kernel calls are indented, as they come before the API
// call that they were made for. Nothing that a caller sent can break the line or control the terminal.
func Line(e *nodeapi.JournalEntry) string {
	number := "running"
	if e.GetSequence() != 0 {
		number = fmt.Sprintf("#%d", e.GetSequence())
	}
	head := fmt.Sprintf("%s %-7s %s ", e.GetBegin().AsTime().UTC().Format("15:04:05.000000"), number,
		cmp.Or(e.GetRequestId(), "-"))
	parts := []string{}
	add := func(text string) {
		if text != "" {
			parts = append(parts, terminal.Line(text))
		}
	}
	switch call := e.GetCall().(type) {
	case *nodeapi.JournalEntry_Kernel:
		parts = append(parts, "  "+terminal.Line(call.Kernel.GetFunction()))
		add(call.Kernel.GetControlCode())
		add(call.Kernel.GetObject())
		add(call.Kernel.GetArguments())
		if text := call.Kernel.GetError(); text != "" {
			add("failed: " + text)
		}
	case *nodeapi.JournalEntry_Api:
		add(strings.TrimPrefix(call.Api.GetMethod(), "/"))
		add(call.Api.GetRequest())
		add(call.Api.GetCode())
		add(call.Api.GetMessage())
		if response := call.Api.GetResponse(); response != "" && response != "{}" {
			add("-> " + printable.Clip(response, maxLineResponse))
		}
	}
	return head + strings.Join(parts, " ") + fmt.Sprintf(" (%v)", e.GetDuration().AsDuration())
}
