// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// A client describes processes. Every field that is set must fit; what the system did not tell fits nothing.
type client struct {
	any       bool
	sid       string
	elevated  *bool
	image     winpath.Path // a program, or the directory that programs are in; zero: not set
	directory bool         // image is a directory
	container string       // an id, or anyContainer or transport.NoContainer
	uid       *uint32
	cgroup    string // a control group; with a slash at its end, those below
}

// anyContainer fits every process in a container.
const anyContainer = "any"

func (c client) matches(peer transport.Peer) bool {
	if c.any {
		return true
	}
	if c.uid != nil && (peer.UID == nil || int64(*peer.UID) != int64(*c.uid)) {
		return false
	}
	if c.sid != "" && !strings.EqualFold(c.sid, peer.SID) {
		return false
	}
	// Without a SID, the token could not be read, and Elevated means nothing.
	if c.elevated != nil && (peer.SID == "" || peer.Elevated != *c.elevated) {
		return false
	}
	return c.inContainer(peer.Container) && c.runs(peer.Image) && c.inCgroup(peer.Container)
}

// inContainer reports whether a process runs in the described container. A rule for an image that names no container
// means the node itself: within a container, any program can have any path.
func (c client) inContainer(is string) bool {
	switch c.container {
	case "":
		return c.image.IsZero() || is == transport.NoContainer
	case anyContainer:
		return is != "" && is != transport.NoContainer
	}
	return strings.EqualFold(c.container, is)
}

// runs reports whether the process's program is the described one. A short name or a path without a drive fits nothing.
func (c client) runs(image string) bool {
	if c.image.IsZero() {
		return true
	}
	is, err := winpath.Parse(image, winpath.Options{})
	if err != nil || !winpath.HasDrive(image) {
		return false
	}
	if !c.directory {
		return is.Equal(c.image)
	}
	in, err := winpath.NewWorkingDirs([]string{c.image.String()})
	if err != nil {
		return false
	}
	_, rest, ok := in.Find(is)
	return ok && len(rest) > 0
}

func (c client) inCgroup(is string) bool {
	if c.cgroup == "" || c.cgroup == is {
		return true
	}
	// A group's name may hold anything but a slash, and a process outside the agent's own view has .. in its path.
	return strings.HasSuffix(c.cgroup, "/") && strings.HasPrefix(is, c.cgroup) &&
		!slices.Contains(strings.Split(is, "/"), "..")
}

// Describe returns what is known of a client, in the words of policies.
func Describe(peer transport.Peer) string {
	elevated, container, cgroup := "", peer.Container, ""
	if peer.SID != "" {
		elevated = fmt.Sprint(peer.Elevated)
	}
	if strings.HasPrefix(container, "/") {
		container, cgroup = "", container
	}
	known := words("sid", peer.SID, "elevated", elevated, "image", strings.ToValidUTF8(peer.Image, "\uFFFD"),
		"uid", text(peer.UID), "cgroup", cgroup, "container", container)
	return cmp.Or(known, "about which the system says nothing")
}

// String returns the description as a file has it.
func (c client) String() string {
	every, image := "", c.image.String()
	if c.any {
		every = "true"
	}
	if c.directory && !strings.HasSuffix(image, `\`) {
		image += `\`
	}
	return words("any", every, "sid", c.sid, "elevated", text(c.elevated), "image", image, "container", c.container,
		"uid", text(c.uid), "cgroup", c.cgroup)
}

// words returns the pairs of a field and its value as FIELD=VALUE, without those that have no value.
func words(pairs ...string) string {
	var parts []string
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			parts = append(parts, pair[0]+"="+pair[1])
		}
	}
	return strings.Join(parts, ", ")
}

// text returns a value as text; "" for nil.
func text[T any](value *T) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(*value)
}
