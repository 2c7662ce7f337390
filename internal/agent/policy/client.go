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

// A client is a ClientFile that has been checked.
type client struct {
	ClientFile

	image     winpath.Path // zero: not set
	directory bool         // image is a directory
}

// anyContainer fits every process in a container.
const anyContainer = "any"

func (c client) matches(peer transport.Peer) bool {
	if c.Any != nil {
		return true
	}
	if c.UID != nil && (peer.UID == nil || int64(*peer.UID) != int64(*c.UID)) {
		return false
	}
	if c.SID != "" && !strings.EqualFold(string(c.SID), peer.SID) {
		return false
	}
	// Without a SID, the token could not be read, and Elevated means nothing.
	if c.Elevated != nil && (peer.SID == "" || peer.Elevated != *c.Elevated) {
		return false
	}
	return c.inContainer(peer.Container) && c.runs(peer.Image) && c.inCgroup(peer.Container)
}

// inContainer reports whether a process runs in the described container. A rule for an image that names no container
// means the node itself: within a container, any program can have any path.
func (c client) inContainer(is string) bool {
	switch c.Container {
	case "":
		return c.image.IsZero() || is == transport.NoContainer
	case anyContainer:
		return is != "" && is != transport.NoContainer
	}
	return strings.EqualFold(string(c.Container), is)
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
	rest, ok := is.Below(c.image)
	return ok && len(rest) > 0
}

func (c client) inCgroup(is string) bool {
	cgroup := string(c.Cgroup)
	if cgroup == "" || cgroup == is {
		return true
	}
	// A group's name may hold anything but a slash, and a process outside the agent's own view has .. in its path.
	return strings.HasSuffix(cgroup, "/") && strings.HasPrefix(is, cgroup) &&
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
