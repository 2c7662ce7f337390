// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"cmp"
	"slices"
	"strings"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/terminal"
)

// Text returns the API calls of drivers among some entries of a journal, one a line, in the order in which they ended:
//
//	METHOD REQUEST -> CODE: MESSAGE
//	METHOD REQUEST -> OK RESPONSE
//
// With kernel, the kernel calls made for an API call follow it, indented. Calls of the admin endpoint are left out: a
// test makes them itself.
func Text(entries []*nodeapi.JournalEntry, kernel bool) string {
	below := map[string][]*nodeapi.JournalEntry{} // kernel calls by request id
	for _, e := range entries {
		if e.GetKernel() != nil {
			below[e.GetRequestId()] = append(below[e.GetRequestId()], e)
		}
	}
	var lines []string
	for _, e := range entries {
		call := e.GetApi()
		if call == nil || !strings.HasPrefix(call.GetEndpoint(), "csi-proxy-") {
			continue
		}
		lines = append(lines, apiLine(call))
		if kernel {
			lines = append(lines, kernelLines(below[e.GetRequestId()])...)
			delete(below, e.GetRequestId()) // they were made once
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return stable(strings.Join(lines, "\n") + "\n")
}

func apiLine(call *nodeapi.APICall) string {
	parts := []string{strings.TrimPrefix(call.GetMethod(), "/")}
	if request := call.GetRequest(); request != "" && request != "{}" {
		parts = append(parts, readable(request))
	}
	switch {
	case call.GetCode() == "":
		parts = append(parts, "-> running")
	case call.GetCode() != "OK":
		parts = append(parts, "-> "+call.GetCode()+":", untimed(terminal.Line(call.GetMessage())))
	case call.GetResponse() == "" || call.GetResponse() == "{}":
		parts = append(parts, "-> OK")
	default:
		parts = append(parts, "-> OK", readable(call.GetResponse()))
	}
	return strings.Join(parts, " ")
}

// kernelLines returns the kernel calls of one API call. Calls for disks or volumes that were asked side by side are
// sorted by the number of the disk or volume. Repeated calls are one line: how often the agent asks until something is
// there, or in how many parts it reads a disk, depends on the machine.
func kernelLines(entries []*nodeapi.JournalEntry) (lines []string) {
	for start := 0; start < len(entries); start++ {
		end := start
		for end < len(entries) && entries[end].GetKernel().GetPart() > 0 {
			end++
		}
		slices.SortStableFunc(entries[start:end], func(a, b *nodeapi.JournalEntry) int {
			return cmp.Compare(a.GetKernel().GetPart(), b.GetKernel().GetPart())
		})
		start = max(start, end-1)
	}
	for _, e := range entries {
		call := e.GetKernel()
		parts := []string{"  " + call.GetFunction()}
		for _, part := range []string{call.GetControlCode(), call.GetObject(), call.GetArguments()} {
			if part != "" {
				parts = append(parts, terminal.Line(part))
			}
		}
		switch {
		case e.GetSequence() == 0:
			parts = append(parts, "-> running")
		case call.GetError() != "":
			parts = append(parts, "-> "+terminal.Line(call.GetError()))
		}
		line := strings.Join(parts, " ")
		if len(lines) == 0 || lines[len(lines)-1] != line {
			lines = append(lines, line)
		}
	}
	return lines
}

// readable returns JSON with paths as people write them, on one line. A clipped text ends at its last comma, as a name
// may be cut in its middle, where no placeholder stands for it.
func readable(json string) string {
	if rest, clipped := strings.CutSuffix(json, "…"); clipped {
		json = rest[:strings.LastIndex(rest, ",")+1] + "…"
	}
	return terminal.Line(strings.ReplaceAll(json, `\\`, `\`))
}
