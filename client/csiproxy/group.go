// SPDX-License-Identifier: Apache-2.0

package csiproxy

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

// Calls look for a restarting agent often at first: it is usually back within a second.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = 500 * time.Millisecond
)

// A group with a link to an old version looks for newer ones that the agent may serve by now, less often each time.
const (
	firstImprovement = time.Second
	lastImprovement  = time.Minute
)

// settling is how long a starting agent may take to open its endpoints. A younger link may be to too old a version.
const settling = 500 * time.Millisecond

// A group is the connection of one API group. The generated client of the newest version uses it as a gRPC connection.
type group struct {
	noStreams
	table   versions.Group
	options Options
	all     map[string]*group // of the client, by name; this one, too

	negotiating chan struct{} // holds one element while no call negotiates
	mu          sync.Mutex    // guards the rest
	link        *link         // nil until there is one, and while the agent is away
	seen        bool          // there has been one before
	closed      bool
}

func newGroup(table versions.Group, options Options, all map[string]*group) *group {
	g := &group{table: table, options: options, all: all, negotiating: make(chan struct{}, 1)}
	g.negotiating <- struct{}{}
	return g
}

// Invoke makes a call to the newest version's method, in the version that the agent serves.
func (g *group) Invoke(ctx context.Context, method string, request, response any, opts ...grpc.CallOption) error {
	if _, ok := ctx.Deadline(); !ok && g.options.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, g.options.Timeout)
		defer cancel()
		ctx = limited
	}
	name := path.Base(method)
	for repeated := false; ; {
		l, err := g.acquire(ctx, g.agentWasThere)
		if err != nil {
			return err
		}
		if l.due() {
			go g.improveLater(context.WithoutCancel(ctx), l)
		}
		version := l.version
		err = l.call(ctx, name, request, response, opts)
		l.calls.Done()
		if err == nil {
			return nil
		}
		if errors.As(err, new(*versions.UnsupportedError)) && g.hasNewer(ctx, l) { // nothing was called
			continue
		}
		err = failed(err, g.table.Name, version, name)
		if !isGone(err) || ctx.Err() != nil {
			return err
		}
		g.drop(l)
		if repeated || !repeatable(request) {
			return err
		}
		repeated = true
	}
}

// Connect makes sure that there is a link to the newest version served now, and returns that version.
func (g *group) Connect(ctx context.Context) (string, error) {
	l, err := g.acquire(ctx, g.wasThere)
	if err != nil {
		return "", err
	}
	version := l.version
	l.calls.Done()
	if better := g.improve(ctx, l); better != "" {
		version = better
	}
	return version, nil
}

// acquire returns the link, with one call counted, or makes one. It waits for an agent that was there before, but not
// for a group that was never there while others answer.
func (g *group) acquire(ctx context.Context, wasThere func() bool) (*link, error) {
	if l, err := g.current(); l != nil || err != nil {
		return l, err
	}
	select {
	case <-g.negotiating:
		defer func() { g.negotiating <- struct{}{} }()
	case <-ctx.Done():
		return nil, unreached(g.table.Name, ctx.Err())
	}
	giveUp := time.Now().Add(g.options.Restart)
	var others time.Time // since when only other groups answer
	for wait := firstLook; ; wait = min(2*wait, lastLook) {
		if l, err := g.current(); l != nil || err != nil { // another call made it
			return l, err
		}
		l, err := g.negotiate(ctx, "")
		if err == nil {
			return g.setLink(l)
		}
		last := !wasThere() || time.Now().After(giveUp)
		if absent := (*absentError)(nil); errors.As(err, &absent) && (last || !g.wasThere()) {
			switch {
			case !g.othersAnswer(ctx):
				others = time.Time{}
			case last || !others.IsZero() && time.Since(others) > settling:
				return nil, left(g.table, absent)
			case others.IsZero():
				others = time.Now()
			}
		}
		if last {
			return nil, unreached(g.table.Name, err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, unreached(g.table.Name, fmt.Errorf("%w (%w)", err, ctx.Err()))
		}
	}
}

// current returns the link with one call counted, or nil.
func (g *group) current() (*link, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, &Error{Group: g.table.Name, Code: codes.Canceled, Message: "the client is closed"}
	}
	if g.link != nil {
		g.link.calls.Add(1)
	}
	return g.link, nil
}

// setLink makes a new link the group's, with one call counted.
func (g *group) setLink(l *link) (*link, error) {
	g.mu.Lock()
	if !g.closed {
		g.link, g.seen = l, true
	}
	g.mu.Unlock()
	kept, err := g.current()
	if kept != l {
		_ = l.connection.Close() // the client was closed meanwhile
	}
	return kept, err
}

func (g *group) wasThere() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.seen
}

// agentWasThere reports whether any group of the client has been connected.
func (g *group) agentWasThere() bool {
	for _, one := range g.all {
		if one.wasThere() {
			return true
		}
	}
	return false
}

// othersAnswer reports whether another group of the agent answers now.
func (g *group) othersAnswer(ctx context.Context) bool {
	for _, other := range g.all {
		if other == g {
			continue
		}
		if l, err := other.negotiate(ctx, ""); err == nil {
			_ = l.connection.Close() // it has served its purpose
			return true
		}
	}
	return false
}

// drop gives up a link whose agent is gone. The link is closed when its other calls have ended.
func (g *group) drop(l *link) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.link != l {
		return
	}
	g.link = nil
	l.retire()
}

// Close closes the link; running and later calls fail.
func (g *group) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.link == nil {
		return nil
	}
	l := g.link
	g.link = nil
	return l.connection.Close()
}

// improve replaces a link to an old version if a newer one is served, and returns that version, or "". A starting agent
// opens its endpoints one after the other, so an early caller finds only some of them.
func (g *group) improve(ctx context.Context, l *link) string {
	if l.version == g.table.Hub {
		return ""
	}
	newer, err := g.negotiate(ctx, l.version)
	if err != nil {
		return ""
	}
	g.mu.Lock()
	replaced := g.link == l
	if replaced {
		g.link = newer
	}
	g.mu.Unlock()
	if !replaced { // another call has replaced it, or the client is closed
		_ = newer.connection.Close()
		return ""
	}
	l.retire()
	return newer.version
}

// hasNewer reports whether the agent serves a newer version than a link's by now. It waits for a starting one.
func (g *group) hasNewer(ctx context.Context, l *link) bool {
	for {
		g.improve(ctx, l)
		g.mu.Lock()
		// another call may have found it, or that the agent is gone
		newer := !g.closed && (g.link == nil || g.link.version != l.version)
		g.mu.Unlock()
		if newer || time.Since(l.made) > settling {
			return newer
		}
		select {
		case <-time.After(firstLook):
		case <-ctx.Done():
			return false
		}
	}
}

func (g *group) improveLater(ctx context.Context, l *link) {
	ctx, cancel := context.WithTimeout(ctx, lastImprovement)
	defer cancel()
	g.improve(ctx, l)
}

// negotiate connects to the newest version that the agent serves; unless than is empty, only versions newer than that
// count. Endpoints that do not exist fail at once, so that looking for older ones costs nothing.
func (g *group) negotiate(ctx context.Context, than string) (*link, error) {
	var errs []error
	absent := &absentError{}
	for _, version := range slices.Backward(append(g.table.Versions(), g.table.Hub)) {
		if version == than {
			break
		}
		connection, err := g.options.open(ctx, g.table.Name, version)
		if err == nil {
			return newLink(g.table, version, connection), nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		if !absent.add(err) {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		return nil, absent
	}
	return nil, errors.Join(errs...)
}

// isGone reports whether the connection broke, as opposed to an agent that reports something else as unavailable.
func isGone(err error) bool {
	e := (*Error)(nil)
	return errors.As(err, &e) && e.Code == codes.Unavailable && e.Reason == ""
}
