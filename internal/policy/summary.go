// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/transport"
)

// A Summary is a rule for people.
type Summary struct {
	Line        int      `json:"line"`
	Name        string   `json:"name"`
	Clients     []string `json:"clients"`
	Methods     []string `json:"methods"` // paths on the wire
	Directories []string `json:"directories"`
	Others      []string `json:"others"` // services and servers
}

// Summary returns the rule for people.
func (r *Rule) Summary() Summary {
	s := Summary{Line: r.line, Name: r.name, Directories: []string{}, Others: []string{}}
	for _, c := range r.clients {
		s.Clients = append(s.Clients, c.String())
	}
	for _, m := range r.methods {
		s.Methods = append(s.Methods, m.text)
	}
	for _, d := range r.directories.Dirs() {
		s.Directories = append(s.Directories, d.String())
	}
	for _, list := range [][]string{r.services, r.servers, r.portals, r.targets} {
		s.Others = append(s.Others, list...)
	}
	return s
}

// String returns the description as a file has it.
func (c client) String() string {
	var parts []string
	add := func(given bool, format string, value any) {
		if given {
			parts = append(parts, fmt.Sprintf(format, value))
		}
	}
	add(c.any, "any=%v", c.any)
	add(c.sid != "", "sid=%s", c.sid)
	if c.elevated != nil {
		add(true, "elevated=%v", *c.elevated)
	}
	image := c.image.String()
	if c.directory && !strings.HasSuffix(image, `\`) {
		image += `\`
	}
	add(!c.image.IsZero(), "image=%s", image)
	add(c.container != "", "container=%s", c.container)
	if c.uid != nil {
		add(true, "uid=%d", *c.uid)
	}
	add(c.cgroup != "", "cgroup=%s", c.cgroup)
	return strings.Join(parts, ", ")
}

// ParseClient reads what the system says of a client, each text a FIELD=VALUE. On Windows, a client is not in a
// container unless one is named.
func ParseClient(texts []string) (transport.Peer, error) {
	var peer transport.Peer
	for _, text := range texts {
		field, value, ok := strings.Cut(text, "=")
		var err error
		switch field {
		case "uid":
			var uid uint64
			uid, err = strconv.ParseUint(value, 10, 31)
			peer.UID = new(int(uid))
		case "sid":
			peer.SID = value
			ok = ok && isSID(value)
		case "elevated":
			peer.Elevated, err = strconv.ParseBool(value)
		case "image":
			peer.Image = value
		case "container", "cgroup":
			peer.Container = value
		default:
			ok = false
		}
		if !ok || err != nil || value == "" {
			return peer, fmt.Errorf("%q is not what the system says of a client, such as uid=1000, cgroup=/kubepods/a, "+
				"sid=S-1-5-18, elevated=true, image=C:\\driver.exe or container=none", text)
		}
	}
	if peer.UID == nil && peer.Container == "" {
		peer.Container = transport.NoContainer
	}
	return peer, nil
}

// ParseMethod returns the path on the wire of a method, GROUP/VERSION/METHOD.
func ParseMethod(text string) (path string, err error) {
	m, err := parseMask(text)
	if err != nil {
		return "", err
	}
	all := slices.DeleteFunc(Methods(), func(path string) bool { return !m.matches(path) })
	if len(all) != 1 {
		return "", fmt.Errorf("%q is not one method of the API, such as volume/v1/FormatVolume", text)
	}
	return all[0], nil
}
