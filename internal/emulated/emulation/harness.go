// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"cmp"
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/journal"
)

// journalEntries is the size of the journal: some hundred API calls with their kernel calls.
const journalEntries = 4096

// A Harness is an emulated node with the journal and the faults of its calls.
type Harness struct {
	Node    *emulated.Node
	Journal *journal.Journal
	Faults  *faults.Set
}

// newHarness sets up the journal and the faults of an emulated node. Crash ends the process for faults that ask for it;
// if it is nil, they are refused.
func newHarness(n *emulated.Node, crash func()) *Harness {
	n.Hasten(false)
	return &Harness{Node: n, Journal: journal.New(journalEntries, server.RequestID), Faults: faults.New(crash)}
}

// interceptor returns an interceptor of all kernel calls, around another one, which may be nil.
func (h *Harness) interceptor(inner kernel.Interceptor) kernel.Interceptor {
	return kernel.Chain(h.Journal.Intercept, inner, h.Faults.Intercept, h.Node.TakeTime)
}

// disturb allows faults for the methods of endpoints that are about to be served, and returns the endpoints with them.
func (h *Harness) disturb(endpoints []server.Endpoint) []server.Endpoint {
	disturbed, paths := h.withFaults(endpoints)
	h.Faults.Serve(paths)
	return disturbed
}

// withFaults returns endpoints whose calls are disturbed by the faults that there are, and the paths of their methods.
func (h *Harness) withFaults(endpoints []server.Endpoint) (disturbed []server.Endpoint, paths []string) {
	for _, e := range endpoints {
		e.Services = slices.Clone(e.Services)
		for i, s := range e.Services {
			s.Methods = slices.Clone(s.Methods)
			for j, m := range s.Methods {
				path := s.Path(m)
				paths = append(paths, path)
				s.Methods[j] = m.Around(func(ctx context.Context, do func() error) error {
					cut, err := h.Faults.Around(ctx, path, do)
					if cut {
						server.Cut(ctx)
					}
					return err
				})
			}
			e.Services[i] = s
		}
		disturbed = append(disturbed, e)
	}
	return disturbed, paths
}

// control returns the service of the admin endpoint by which the node is changed, broken and rebooted.
func (h *Harness) control(a *agent.Agent) []server.Service {
	return []server.Service{{Name: api.EmulatedNode_ServiceDesc.ServiceName, Methods: append(verbs(h.Node),
		answer("AddFault", node.LimitWrite, h.addFault),
		server.Unary("ListFaults", node.LimitRead, h.ListFaults),
		change("RemoveFault", node.LimitWrite, h.removeFault),
		server.Unary("ListJournal", 2*journalWait, h.ListJournal),
		server.Unary("Reboot", node.LimitLong,
			func(ctx context.Context, _ *api.RebootRequest) (*emptypb.Empty, error) {
				return &emptypb.Empty{}, h.reboot(context.WithoutCancel(ctx), a)
			}),
		change("SaveNode", node.LimitLong,
			func(r *api.SaveNodeRequest) error { return h.Node.Save(r.GetDirectory(), r.GetClone()) }),
		server.Unary("RestoreNode", node.LimitLong,
			func(ctx context.Context, r *api.RestoreNodeRequest) (*emptypb.Empty, error) {
				return &emptypb.Empty{}, controlError(h.restore(context.WithoutCancel(ctx), a, r.GetDirectory()))
			}),
	)}}
}

// reboot reboots the node under an agent, which cuts calls off as a reboot does and then serves again. While the host
// would not let the node come back, it does nothing.
func (h *Harness) reboot(ctx context.Context, a *agent.Agent) error {
	if err := h.Node.CanReboot(); err != nil {
		return errdefs.FailedPrecondition.WrapErrorf(err, "NOT_POSSIBLE",
			"not rebooted: its host keeps the emulated node from coming back: %v; csi-proxyctl doctor looks at the host", err)
	}
	return a.Interrupt(ctx, h.abort, h.Node.Reboot)
}

// restore makes the node what was saved in a directory, and serves it again, as reboot does.
func (h *Harness) restore(ctx context.Context, a *agent.Agent, directory string) error {
	if err := h.Node.PrepareRestore(directory); err != nil {
		return err
	}
	return a.Interrupt(ctx, h.abort, h.Node.Restore)
}

// Close makes the calls that a fault holds fail, and ends all faults: running calls have had their time.
func (h *Harness) Close() {
	h.abort()
	h.Faults.Release()
}

// abort makes the calls that a fault holds fail, and ends the waits of those that take time: the node reboots.
func (h *Harness) abort() {
	h.Faults.Abort()
	h.Node.Hasten(true)
}

const (
	// journalPart is the most entries of one answer.
	journalPart = 500
	// journalWait is how long ListJournal waits for an entry.
	journalWait = 30 * time.Second
)

// Record records API calls in the journal, except those that read it: following it would never end.
func (h *Harness) Record(c server.CallInfo) server.Record {
	if c.Method == api.EmulatedNode_ListJournal_FullMethodName {
		return nil
	}
	return h.Journal.BeginAPI(c.RequestID, c.Endpoint, c.Method)
}

// ListJournal answers the method of that name.
func (h *Harness) ListJournal(ctx context.Context, r *api.ListJournalRequest) (*api.ListJournalResponse, error) {
	r = proto.CloneOf(r)
	r.Limit = cmp.Or(min(r.GetLimit(), journalPart), journalPart)
	waitCtx, cancel := context.WithTimeout(ctx, journalWait)
	defer cancel()
	for {
		found, err := h.Journal.Find(r)
		if err != nil {
			return nil, &errdefs.Error{Class: errdefs.InvalidArgument, Reason: "INVALID_QUERY", Message: err.Error(), Err: err}
		}
		if !r.GetWait() || len(found.GetEntries()) > 0 ||
			!h.Journal.Wait(waitCtx, max(found.GetSearched(), found.GetNewest())) {
			return found, nil
		}
		r.After = found.GetSearched()
	}
}
