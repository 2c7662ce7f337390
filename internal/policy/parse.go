// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kubernetes-csi/csi-proxy/internal/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// The two fields with which every file begins.
const (
	APIVersion = "csi-proxy.kubernetes.io/v1alpha1"
	Kind       = "Policy"
)

// Parse parses the text of a policy file; the name is for errors, which are *FileError.
func Parse(name string, text []byte) (*Policy, error) {
	p := &Policy{name: name}
	root, err := document(text)
	if err == nil {
		err = p.read(root)
	}
	if err != nil {
		return nil, err.in(name)
	}
	return p, nil
}

func (p *Policy) read(root *yaml.Node) *FileError {
	if err := mapping(root, "a policy", fields{
		"apiVersion": func(n *yaml.Node) *FileError { return constant(n, "apiVersion", APIVersion) },
		"kind":       func(n *yaml.Node) *FileError { return constant(n, "kind", Kind) },
		"rules": func(n *yaml.Node) *FileError {
			return each(n, "rules", func(n *yaml.Node) *FileError {
				r := &Rule{line: n.Line}
				p.rules = append(p.rules, r)
				return r.read(n)
			})
		},
	}, "apiVersion", "kind", "rules"); err != nil {
		return err
	}
	for i, r := range p.rules {
		if slices.ContainsFunc(p.rules[:i], func(before *Rule) bool { return before.name == r.name }) {
			return &FileError{Line: r.line, Problem: fmt.Sprintf("two rules have the name %q", r.name)}
		}
	}
	return nil
}

func (r *Rule) read(n *yaml.Node) *FileError {
	var directories []string
	if err := mapping(n, "a rule", fields{
		"name":    func(n *yaml.Node) *FileError { return text(n, "name", &r.name) },
		"clients": func(n *yaml.Node) *FileError { return each(n, "clients", r.readClient) },
		"methods": func(n *yaml.Node) *FileError { return each(n, "methods", r.readMask) },
		"directories": func(n *yaml.Node) *FileError {
			return each(n, "directories", func(n *yaml.Node) *FileError {
				var one string
				if err := text(n, "a directory", &one); err != nil {
					return err
				}
				if _, err := winpath.NewWorkingDirs([]string{one}); err != nil {
					return wrong(n, "%v", err)
				}
				directories = append(directories, one)
				return nil
			})
		},
		"services":     func(n *yaml.Node) *FileError { return texts(n, "services", &r.services, plainName) },
		"smbServers":   func(n *yaml.Node) *FileError { return texts(n, "smbServers", &r.servers, serverPattern) },
		"iscsiPortals": func(n *yaml.Node) *FileError { return texts(n, "iscsiPortals", &r.portals, portalPattern) },
		"iscsiTargets": func(n *yaml.Node) *FileError { return texts(n, "iscsiTargets", &r.targets, targetPattern) },
	}, "name", "clients", "methods"); err != nil {
		return err
	}
	var err error
	if r.directories, err = winpath.NewWorkingDirs(directories); err != nil {
		return wrong(n, "%v", err) // each was accepted before
	}
	for _, list := range [][]string{r.servers, r.portals, r.targets} {
		for i := range list {
			list[i] = lower(list[i])
		}
	}
	return nil
}

func (r *Rule) readMask(n *yaml.Node) *FileError {
	var one string
	if err := text(n, "a method", &one); err != nil {
		return err
	}
	m, err := parseMask(one)
	if err != nil {
		return wrong(n, "%v", err)
	}
	if !slices.ContainsFunc(Methods(), m.matches) {
		return wrong(n, "%q selects no method of the API", one)
	}
	r.methods = append(r.methods, m)
	return nil
}

func (r *Rule) readClient(n *yaml.Node) *FileError {
	c, given := client{}, 0
	var image string
	counted := func(read func(n *yaml.Node) *FileError) func(n *yaml.Node) *FileError {
		return func(n *yaml.Node) *FileError { given++; return read(n) }
	}
	err := mapping(n, "a client", fields{
		"any": counted(func(n *yaml.Node) *FileError {
			if err := boolean(n, "any", &c.any); err != nil || c.any {
				return err
			}
			return wrong(n, "any can only be true; a rule without it is for the clients that it describes")
		}),
		"sid": counted(func(n *yaml.Node) *FileError {
			if err := text(n, "sid", &c.sid); err != nil || isSID(c.sid) {
				return err
			}
			return wrong(n, "sid is %q; it must be a security identifier such as S-1-5-18, not a name", c.sid)
		}),
		"elevated": counted(func(n *yaml.Node) *FileError {
			c.elevated = new(bool)
			return boolean(n,
				"elevated", c.elevated)
		}),
		"image": counted(func(n *yaml.Node) *FileError {
			if err := text(n, "image", &image); err != nil {
				return err
			}
			path, err := winpath.Parse(image, winpath.Options{})
			if err != nil {
				return wrong(n, "image: %v", err)
			}
			c.image, c.directory = path, strings.HasSuffix(image, `\`)
			return nil
		}),
		"container": counted(func(n *yaml.Node) *FileError { return text(n, "container", &c.container) }),
		"uid":       counted(func(n *yaml.Node) *FileError { c.uid = new(int); return number(n, "uid", c.uid) }),
		"cgroup": counted(func(n *yaml.Node) *FileError {
			if err := text(n, "cgroup", &c.cgroup); err != nil || strings.HasPrefix(c.cgroup, "/") {
				return err
			}
			return wrong(n, "cgroup is %q; it must begin with a slash", c.cgroup)
		}),
	})
	switch {
	case err != nil:
		return err
	case given == 0:
		return wrong(n, "a client is not described; any: true is every client")
	case c.any && given > 1:
		return wrong(n, "any stands alone: every client is meant")
	case image != "" && c.container != "" && c.container != transport.NoContainer:
		return wrong(n, "image needs container: %s, which it means by itself: in a container, any program may have any path",
			transport.NoContainer)
	}
	r.clients = append(r.clients, c)
	return nil
}

// isSID reports whether a text has the form of a security identifier.
func isSID(text string) bool {
	rest, ok := strings.CutPrefix(text, "S-1-")
	if !ok || len(text) > 184 { // SECURITY_MAX_SID_STRING_CHARACTERS
		return false
	}
	for part := range strings.SplitSeq(rest, "-") {
		if part == "" || strings.Trim(part, "0123456789") != "" {
			return false
		}
	}
	return true
}
