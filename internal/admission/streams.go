// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
)

// OpenStream counts a stream of the client that is not a call of the API, or returns an error when it is one too many.
// None waits: a client that has so many open does not end them soon.
func (c *Client) OpenStream() error {
	cs := c.all
	cs.mu.Lock()
	defer cs.mu.Unlock()
	places := quota{cs.limits.Streams, cs.limits.ClientStreams}
	if places.crowded(cs.streams) {
		cs.buryAll()
		c.bury()
	}
	process, container := places.share(cs.streams)
	switch a := c.account; {
	case cs.streams >= cs.limits.Streams:
		return tooManyStreams(cs.streams, "all processes")
	case a.streams >= process:
		return tooManyStreams(a.streams, "this process")
	case a.container != "" && cs.together(a).streams >= container:
		return tooManyStreams(cs.together(a).streams, "this container")
	}
	c.count(func(t *tally) { t.streams++ })
	return nil
}

func tooManyStreams(open int, whose string) error {
	return &node.Error{Class: node.ResourceExhausted, Reason: reason.TooManyStreams, Message: fmt.Sprintf(
		"%d health and reflection streams of %s are open already; end those that are not needed, or try again later", open, whose)}
}

// CloseStream takes back a stream that OpenStream counted.
func (c *Client) CloseStream() {
	cs := c.all
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c.count(func(t *tally) { t.streams-- })
	c.forget()
}
