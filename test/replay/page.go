// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/recording"
)

const preface = `# The emulated node, compared with recordings

What real machines were seen to answer to the agent's kernel calls, and whether an emulated node answers the same when it is
put into the same situation. The tests of [test/replay](../test/replay) make this page from the recordings in
[docs/evidence/recordings](evidence/recordings); nothing on it is written by hand.

- **faithful**, and **as recorded** where the host is not Windows: every call that was compared had the same result, and the
  same output once it was decoded. Names and identifiers that a machine makes up, times, and the sizes of its own disks are
  free; [compare.go](../test/replay/compare.go) and its neighbours list them.
- **differs**: the node answers otherwise, which may be wrong, or nobody knows what Windows answers.
- **other than Windows**: the recorded host is not Windows, and documentation says that Windows answers as the node does.
- **never compared**: no recording has such a call, or the replay could not make the situation that it needs.

Each difference is accepted in [accepted.txt](../test/replay/accepted.txt) with a reason; any other fails the tests, and so
does a reason that is not needed any more. hack/record-wine.sh records Wine; on Windows, CSI_PROXY_TEST_AGENT=in-process and
CSI_PROXY_RECORDING=FILE make the tests of test/conformance and test/replay record it. How a file is laid out is told in
[internal/recording](../internal/recording/call.go).

A recording of Wine says what Wine does. It is shown as that, and proves nothing about Windows.

`

// Page writes the page from the reports of replays, each of one host. Kinds that only other reports have are on it,
// too.
func Page(reports []*Report, accepted []*Accepted) string {
	var b strings.Builder
	b.WriteString(preface)
	columns := hosts(reports)
	if !slices.ContainsFunc(columns, func(h string) bool { return strings.HasPrefix(h, recording.Windows) }) {
		b.WriteString("**No recording comes from Windows yet.**\n\n")
	}
	b.WriteString("| recording | calls | date | made by |\n|---|--:|---|---|\n")
	for _, r := range reports {
		if r.Host != recording.Emulated {
			fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", hostName(r.Header), r.Calls, r.Date, r.Program)
		}
	}
	fmt.Fprintf(&b, "\n| function | %s |\n|---|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for _, kind := range kinds(reports) {
		fmt.Fprintf(&b, "| %s |", strings.ReplaceAll(kind, " ", "<br>"))
		for _, host := range columns {
			fmt.Fprintf(&b, " %s |", cell(reports, accepted, host, kind))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func hostName(h recording.Header) string {
	if h.Host == recording.Wine {
		return "Wine " + h.WineVersion + ", recorded"
	}
	return h.Host + " " + h.Version
}

// hosts returns the columns: the hosts that were recorded, but for emulated nodes.
func hosts(reports []*Report) (names []string) {
	for _, r := range reports {
		if name := hostName(r.Header); r.Host != recording.Emulated && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// kinds returns the rows: every function, and every control code and class that any recording has.
func kinds(reports []*Report) []string {
	all := map[string]bool{}
	for _, function := range kernel.Functions() {
		all[function] = true
	}
	for _, r := range reports {
		for kind := range r.Kinds {
			if strings.Contains(kind, "0x") || strings.HasSuffix(kind, " 99") || strings.HasSuffix(kind, " 999") {
				continue // asked to see that they are refused
			}
			function, of, _ := strings.Cut(kind, " ")
			if of != "" {
				delete(all, function)
			}
			all[kind] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// cell tells what came out for a kind of call on a host.
func cell(reports []*Report, accepted []*Accepted, host, kind string) string {
	equal, succeeded := 0, 0
	reasons, never := map[string]map[string]bool{hostsFault: {}, nodesFault: {}}, map[string]bool{}
	for _, r := range reports {
		t := r.Kinds[kind]
		if t == nil || hostName(r.Header) != host {
			continue
		}
		equal, succeeded = equal+t.Equal, succeeded+t.Success
		for reason := range t.Never {
			never[reason] = true
		}
		for d := range t.Differs {
			if a := accept(accepted, r.Header, d); a != nil {
				reasons[a.Fault][a.Reason] = true
			} else {
				reasons[nodesFault]["not accepted: "+d.String()] = true
			}
		}
	}
	listed := func(all map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(all)), "; ") }
	word := "faithful"
	if !strings.HasPrefix(host, recording.Windows) { // only Windows can be that
		word = "as recorded"
	}
	agree := fmt.Sprintf("%d of %d calls that agree succeeded", succeeded, equal)
	switch {
	case len(reasons[nodesFault]) > 0:
		text := "**differs**: " + listed(reasons[nodesFault])
		if len(reasons[hostsFault]) > 0 {
			text += ". Other than Windows: " + listed(reasons[hostsFault])
		}
		return text + fmt.Sprintf(" (%s)", agree)
	case equal > 0 && len(reasons[hostsFault]) > 0:
		return fmt.Sprintf("%s (%s), but where the host is other than Windows: %s", word, agree, listed(reasons[hostsFault]))
	case len(reasons[hostsFault]) > 0:
		return "other than Windows: " + listed(reasons[hostsFault])
	case equal > 0:
		return fmt.Sprintf("%s (%s)", word, agree)
	case len(never) > 0:
		return "never compared: " + listed(never)
	}
	return "never compared"
}
