// SPDX-License-Identifier: Apache-2.0

package csiproxy

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

// A link is a connection to one version of a group.
type link struct {
	table      versions.Group
	version    string
	connection *grpc.ClientConn
	routes     map[string]versions.Route // by the newest version's methods; none for that version itself
	calls      sync.WaitGroup
	made       time.Time

	mu        sync.Mutex // guards the time at which to look for a newer version
	nextLook  time.Time
	lookAgain time.Duration
}

func newLink(table versions.Group, version string, connection *grpc.ClientConn) *link {
	now := time.Now()
	l := &link{
		table: table, version: version, connection: connection, routes: map[string]versions.Route{}, made: now,
		nextLook: now.Add(firstImprovement), lookAgain: 2 * firstImprovement,
	}
	for _, r := range table.Of(version) {
		if r.Hub != "" {
			l.routes[r.Hub] = r
		}
	}
	return l
}

// due reports whether it is time to look for a newer version. Each time, it returns true to only one caller.
func (l *link) due() bool {
	if l.version == l.table.Hub {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Before(l.nextLook) {
		return false
	}
	l.nextLook, l.lookAgain = now.Add(l.lookAgain), min(2*l.lookAgain, lastImprovement)
	return true
}

// retire closes a link that takes no more calls, once its running calls have ended.
func (l *link) retire() {
	go func() {
		l.calls.Wait()
		_ = l.connection.Close()
	}()
}

// call makes a call to the newest version's method in the version of this link.
func (l *link) call(ctx context.Context, method string, request, response any, opts []grpc.CallOption) error {
	invoke := func(method string, request, response any) error {
		return l.connection.Invoke(ctx, "/"+l.table.ServiceName(l.version)+"/"+method, request, response, opts...)
	}
	if l.version == l.table.Hub {
		return invoke(method, request, response)
	}
	route, ok := l.routes[method]
	if !ok {
		return &versions.UnsupportedError{Group: l.table.Name, Version: since(l.table, method), What: method}
	}
	switch route.Kind {
	case versions.Mapped:
		return route.Mapping.Call(request, response, func(request, response any) error {
			return invoke(route.Method, request, response)
		})
	case versions.Extra:
		if err := invoke(route.Method, request, response); err != nil {
			return err
		}
		return inBand(response)
	default:
		return invoke(route.Method, request, response)
	}
}

// inBandField is the number of the field, unknown to most newest versions, in which the oldest agents report a failure.
const inBandField = 1

// inBand returns the failure that a response carries.
func inBand(response any) error {
	message, ok := response.(proto.Message)
	if !ok {
		return nil
	}
	rest := message.ProtoReflect().GetUnknown()
	for len(rest) > 0 {
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return nil
		}
		rest = rest[n:]
		if number == inBandField && kind == protowire.BytesType {
			if text, n := protowire.ConsumeString(rest); n >= 0 && text != "" {
				return errors.New(text)
			}
		}
		if n = protowire.ConsumeFieldValue(number, kind, rest); n < 0 {
			return nil
		}
		rest = rest[n:]
	}
	return nil
}

// repeatable reports whether a call may be repeated when its effect is unknown: all but Rmdir without force.
func repeatable(request any) bool {
	rmdir, ok := request.(*filesystemapi.RmdirRequest)
	return !ok || rmdir.GetForce()
}

// since returns the first version in which the hub's method can be called: v1beta2 for the disk group's "GetDiskState".
func since(g versions.Group, hubMethod string) string {
	for _, v := range g.Versions() {
		if slices.ContainsFunc(g.Of(v), func(r versions.Route) bool { return r.Hub == hubMethod }) {
			return v
		}
	}
	return g.Hub
}
