// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"
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
