// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"context"
	"io"
	"slices"

	"google.golang.org/grpc/peer"

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

func (a *Agent) addFault(r *api.AddFaultRequest) (*api.AddFaultResponse, error) {
	id, _, err := a.Faults.Add(r.GetFault())
	return &api.AddFaultResponse{Id: id}, err
}

func (a *Agent) listFaults(*api.ListFaultsRequest) (*api.ListFaultsResponse, error) {
	return &api.ListFaultsResponse{Faults: a.Faults.List()}, nil
}

func (a *Agent) removeFault(r *api.RemoveFaultRequest) error {
	if r.GetId() == 0 {
		a.Faults.Release()
	} else if !a.Faults.Remove(r.GetId()) {
		return errdefs.NotFound.Errorf("NOT_FOUND", "there is no fault %d", r.GetId())
	}
	return nil
}

// disturb allows faults for the methods of endpoints that are about to be served, and returns the endpoints with them.
func (a *Agent) disturb(endpoints []server.Endpoint) []server.Endpoint {
	disturbed, paths := a.withFaults(endpoints)
	a.Faults.Serve(paths)
	return disturbed
}

// withFaults returns endpoints whose calls are disturbed by the faults that there are, and the paths of their methods.
func (a *Agent) withFaults(endpoints []server.Endpoint) (disturbed []server.Endpoint, paths []string) {
	for _, e := range endpoints {
		e.Services = slices.Clone(e.Services)
		for i, s := range e.Services {
			s.Methods = slices.Clone(s.Methods)
			for j, m := range s.Methods {
				path := s.Path(m)
				paths = append(paths, path)
				s.Methods[j].Handle = func(ctx context.Context, decode func(any) error) (response any, err error) {
					cut, err := a.Faults.Around(ctx, path, func() (err error) { response, err = m.Handle(ctx, decode); return err })
					if cut {
						cutOff(ctx)
					}
					return response, err
				}
			}
			e.Services[i] = s
		}
		disturbed = append(disturbed, e)
	}
	return disturbed, paths
}

// EndFaults makes the calls that a fault holds fail, and ends all faults: running calls have had their time.
func (a *Agent) EndFaults() {
	a.abort()
	a.Faults.Release()
}

// abort makes the calls that a fault holds fail, and ends the waits of those that take time: the node reboots.
func (a *Agent) abort() {
	a.Faults.Abort()
	a.Emulated.Hasten()
}

// cutOff closes the connection of a call, whose client gets no answer.
func cutOff(ctx context.Context) {
	if p, ok := peer.FromContext(ctx); ok {
		if c, ok := p.AuthInfo.(io.Closer); ok {
			_ = c.Close() // whatever this returns, the client sees a closed connection
		}
	}
}
