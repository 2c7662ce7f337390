// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

// An operation takes less than slow on a healthy node. One that takes as long as stuck hangs, as in the metric
// csi_proxy_kernel_calls_stuck. The agent lets no call take as long as hung: its caller has given up.
const (
	slow  = 5 * time.Second
	stuck = 30 * time.Second
	hung  = 2 * time.Minute
)

// operations judges work that does not end.
func (r *report) operations() {
	severity := Warning
	if len(r.running(hung, math.MaxInt64)) > 0 {
		severity = Problem
	} else if len(r.Unanswered)+len(r.unknown()) > 0 {
		return // what hangs is named with the questions
	}
	lines := r.running(stuck, math.MaxInt64)
	if len(lines) == 0 && !r.silent() {
		lines = r.awaited(stuck)
	}
	const agents = "restarting the agent ends no call that hangs in Windows; restarting the node does"
	byServer := map[string][]string{}
	for _, line := range lines {
		server := ""
		if of := atServer.FindStringSubmatch(line); of != nil {
			server = of[1]
		}
		byServer[server] = append(byServer[server], line)
	}
	for _, server := range slices.Sorted(maps.Keys(byServer)) {
		if server == "" {
			r.add(severity, "hung-operation", "the agent waits for Windows and gets no answer", byServer[server],
				systemLog,
				"repeat the call later: it joins the one that runs", agents)
			continue
		}
		r.add(severity, "hung-operation", "the agent waits for a file server and gets no answer: "+server, byServer[server],
			testServer(server), smbLog, agents)
	}
	if lines = r.running(slow, stuck); len(lines) > 0 {
		r.add(Note, "slow-operation", "the agent has waited for Windows for more than five seconds", lines,
			"csi-proxyctl doctor, in half a minute: what has not ended by then hangs")
	}
}

// testServer returns the step that shows whether a file server answers.
func testServer(name string) string {
	return command("check that the file server answers from this node: Test-NetConnection %s -Port 445",
		argument{"SERVER", name})
}

// atServer matches an operation at a share, and finds its server.
var atServer = regexp.MustCompile(`(?:^|[( ])\\\\([^\\?.][^\\]*)\\`)

// running returns the calls of an age, those that wait for others last. Of several with one name, such as repeated
// questions, the oldest is returned. The agent's own looks, as for this report, are no calls.
func (r *report) running(from, to time.Duration) (lines []string) {
	var waiting []string
	seen := map[string]bool{}
	for _, o := range r.Seen.GetOperations() {
		age := o.GetAge().AsDuration()
		line := fmt.Sprintf("%s, for %v", o.GetName(), age.Round(time.Second))
		again := seen[o.GetName()]
		seen[o.GetName()] = true
		switch {
		case again || age < from || age >= to || !isCall(o):
		case o.GetWaiting():
			waiting = append(waiting, line+", waiting for others")
		default:
			lines = append(lines, line)
		}
	}
	return append(lines, waiting...)
}

// isCall reports whether an operation is a call of the storage API, by the names of the newest versions' methods.
func isCall(o *admin.Operation) bool {
	verb, _, _ := strings.Cut(o.GetName(), "(")
	return slices.ContainsFunc(versions.Groups(), func(g versions.Group) bool {
		name := protoreflect.FullName(g.ServiceName(g.Hub) + "." + verb)
		_, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
		return err == nil
	})
}

// awaited returns what the agent's own looks have waited for, for at least so long.
func (r *report) awaited(from time.Duration) (lines []string) {
	seen := map[string]bool{}
	for _, o := range r.Seen.GetOperations() {
		_, object, _ := strings.Cut(strings.TrimSuffix(o.GetName(), ")"), "(")
		if _, at, is := strings.Cut(object, " at "); is {
			object = at
		}
		if age := o.GetAge().AsDuration(); !isCall(o) && strings.Contains(object, `\`) && !seen[object] && age >= from {
			seen[object] = true
			lines = append(lines, fmt.Sprintf("%s has not answered for %v", object, age.Round(time.Second)))
		}
	}
	return lines
}

// silent reports whether another finding says what does not answer.
func (r *report) silent() bool {
	return len(r.Tree.Unknown) > 0 ||
		slices.ContainsFunc(r.Seen.GetContents(), func(c *admin.DiskContent) bool { return c.GetError() != "" }) ||
		slices.ContainsFunc(r.Seen.GetMappings(), func(m *admin.SMBMapping) bool { return m.GetError() != "" }) ||
		slices.ContainsFunc(r.Seen.GetLinks(), func(l *admin.Link) bool { return l.GetUnknown() != "" })
}
