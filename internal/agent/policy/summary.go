// SPDX-License-Identifier: Apache-2.0

package policy

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
