// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// The two fields with which every file begins.
const (
	APIVersion = "csi-proxy/v1alpha1"
	Kind       = "Policy"
)

// A File is a policy file.
type File struct {
	APIVersion string     `yaml:"apiVersion"`
	Kind       string     `yaml:"kind"`
	Rules      []RuleFile `yaml:"rules"`
}

// A RuleFile is a rule as the file has it.
type RuleFile struct {
	Name         Name         `yaml:"name"`
	Clients      []ClientFile `yaml:"clients"`
	Methods      []Name       `yaml:"methods"`
	Directories  []Name       `yaml:"directories,omitempty"`
	Services     []Name       `yaml:"services,omitempty"`
	SMBServers   []Name       `yaml:"smbServers,omitempty"`
	ISCSIPortals []Name       `yaml:"iscsiPortals,omitempty"`
	ISCSITargets []Name       `yaml:"iscsiTargets,omitempty"`
}

// A ClientFile describes processes. Every field that is set must fit; what the system did not tell fits nothing.
type ClientFile struct {
	Any       *bool   `yaml:"any,omitempty"`
	SID       Name    `yaml:"sid,omitempty"`
	Elevated  *bool   `yaml:"elevated,omitempty"`
	Image     Name    `yaml:"image,omitempty"`     // a program or, with a \ at its end, the directory that programs are in
	Container Name    `yaml:"container,omitempty"` // an id, or anyContainer or transport.NoContainer
	UID       *uint32 `yaml:"uid,omitempty"`
	Cgroup    Name    `yaml:"cgroup,omitempty"` // a control group; with a slash at its end, those below
}

// Name is a text that is not empty: "" is a field that the file does not have.
type Name string

const maxName = 1024 // bytes

// UnmarshalYAML implements strictyaml.Unmarshaler.
func (t *Name) UnmarshalYAML(decode func(any) error) error {
	if err := decode((*string)(t)); err != nil {
		return err
	}
	switch {
	case *t == "":
		return errors.New("it is empty")
	case len(*t) > maxName:
		return fmt.Errorf("it has more than %d bytes", maxName)
	case strings.ContainsFunc(string(*t), func(r rune) bool { return r < ' ' || r == 0x7F }):
		return errors.New("it has a control character")
	}
	return nil
}

// Parse parses the text of a policy file; the name is for errors, which are *strictyaml.Error.
func Parse(name string, text []byte) (*Policy, error) {
	var f File
	document, err := strictyaml.Decode(name, text, &f)
	if err != nil {
		return nil, err
	}
	p := &Policy{name: name}
	if err := p.read(f, document); err != nil {
		return nil, document.Error(err)
	}
	return p, nil
}

func (p *Policy) read(f File, document *strictyaml.Document) error {
	if f.APIVersion != APIVersion {
		return strictyaml.At(fmt.Errorf("it is %q; this agent knows %s", f.APIVersion, APIVersion), "apiVersion")
	}
	if f.Kind != Kind {
		return strictyaml.At(fmt.Errorf("it is %q; this agent knows %s", f.Kind, Kind), "kind")
	}
	if len(f.Rules) == 0 {
		return strictyaml.At(errors.New("a policy needs one or more"), "rules")
	}
	for i, one := range f.Rules {
		r := &Rule{File: one, Line: document.Line("rules", i)}
		if err := r.read(one); err != nil {
			return strictyaml.At(err, "rules", i)
		}
		if slices.ContainsFunc(p.rules, func(before *Rule) bool { return before.Name() == r.Name() }) {
			return strictyaml.At(fmt.Errorf("two rules have the name %q", r.Name()), "rules", i)
		}
		p.rules = append(p.rules, r)
	}
	return nil
}

func (r *Rule) read(f RuleFile) (err error) {
	for i, one := range f.Clients {
		c, err := one.client()
		if err != nil {
			return strictyaml.At(err, "clients", i)
		}
		r.clients = append(r.clients, c)
	}
	for i, one := range f.Methods {
		m, err := selected(string(one))
		if err != nil {
			return strictyaml.At(err, "methods", i)
		}
		r.methods = append(r.methods, m)
	}
	var directories []string
	for i, one := range f.Directories {
		directories = append(directories, string(one))
		if r.directories, err = winpath.NewWorkingDirs(directories); err != nil {
			return strictyaml.At(err, "directories", i)
		}
	}
	for _, list := range []struct {
		field   string
		from    []Name
		to      *[]string
		problem func(string) string
		form    func(string) string
	}{
		{"services", f.Services, &r.services, plainName, strings.Clone},
		{"smbServers", f.SMBServers, &r.servers, serverPattern, winpath.Fold},
		{"iscsiPortals", f.ISCSIPortals, &r.portals, portalPattern, winpath.Fold},
		{"iscsiTargets", f.ISCSITargets, &r.targets, targetPattern, winpath.LowerASCII},
	} {
		for i, one := range list.from {
			if problem := list.problem(string(one)); problem != "" {
				return strictyaml.At(fmt.Errorf("%q %s", one, problem), list.field, i)
			}
			*list.to = append(*list.to, list.form(string(one)))
		}
	}
	if f.Name == "" || len(f.Clients) == 0 || len(f.Methods) == 0 {
		return errors.New("a rule needs a name, clients and methods")
	}
	return nil
}

func (f ClientFile) client() (client, error) {
	c := client{ClientFile: f}
	if f == (ClientFile{}) {
		return c, errors.New("a client is not described; any: true is every client")
	}
	if f.Any != nil && !*f.Any {
		return c, errors.New("any can only be true; a rule without it is for the clients that it describes")
	}
	if f.Any != nil && f != (ClientFile{Any: f.Any}) {
		return c, errors.New("any stands alone: every client is meant")
	}
	if _, err := win32.ParseSID(string(f.SID)); f.SID != "" && err != nil {
		return c, strictyaml.At(fmt.Errorf("it is %q; it must be a security identifier such as S-1-5-18, not a name", f.SID),
			"sid")
	}
	if f.Cgroup != "" && !strings.HasPrefix(string(f.Cgroup), "/") {
		return c, strictyaml.At(fmt.Errorf("it is %q; it must begin with a slash", f.Cgroup), "cgroup")
	}
	if f.Image == "" {
		return c, nil
	}
	if f.Container != "" && f.Container != transport.NoContainer {
		return c, fmt.Errorf("image needs container: %s, which it means by itself: in a container, any program may have any "+
			"path", transport.NoContainer)
	}
	path, err := winpath.Parse(string(f.Image), winpath.Options{})
	c.image, c.directory = path, strings.HasSuffix(string(f.Image), `\`)
	return c, strictyaml.At(err, "image")
}
