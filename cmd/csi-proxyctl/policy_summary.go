// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// A ruleSummary is a rule for people. What its parser accepted needs no check.
type ruleSummary struct {
	Line        int      `json:"line"`
	Name        string   `json:"name"`
	Clients     []string `json:"clients"`
	Methods     []string `json:"methods"` // paths on the wire
	Directories []string `json:"directories"`
	Others      []string `json:"others"` // services and servers
}

func summaryOf(r *policy.Rule) ruleSummary {
	f, s := r.File, ruleSummary{Line: r.Line, Name: r.Name(), Directories: []string{}, Others: []string{}}
	for _, c := range f.Clients {
		s.Clients = append(s.Clients, describe(c))
	}
	for _, m := range f.Methods {
		s.Methods = append(s.Methods, string(m))
	}
	var directories []string
	for _, d := range f.Directories {
		directories = append(directories, string(d))
	}
	dirs, _ := winpath.NewWorkingDirs(directories)
	for _, d := range dirs.Dirs() {
		s.Directories = append(s.Directories, d.String())
	}
	for _, list := range []struct {
		names []policy.Name
		form  func(string) string
	}{
		{f.Services, strings.Clone}, {f.SMBServers, winpath.Fold}, {f.ISCSIPortals, winpath.Fold},
		{f.ISCSITargets, winpath.LowerASCII},
	} {
		for _, name := range list.names {
			s.Others = append(s.Others, list.form(string(name)))
		}
	}
	return s
}

// describe returns the description of a client on one line, with the file's fields.
func describe(c policy.ClientFile) string {
	var words []string
	add := func(field, value string) {
		if value != "" {
			words = append(words, field+"="+value)
		}
	}
	add("any", valueOf(c.Any))
	add("sid", string(c.SID))
	add("elevated", valueOf(c.Elevated))
	if c.Image != "" {
		path, _ := winpath.Parse(string(c.Image), winpath.Options{})
		image := path.String()
		if strings.HasSuffix(string(c.Image), `\`) && !strings.HasSuffix(image, `\`) {
			image += `\`
		}
		add("image", image)
	}
	add("container", string(c.Container))
	add("uid", valueOf(c.UID))
	add("cgroup", string(c.Cgroup))
	return strings.Join(words, ", ")
}

// valueOf returns a value as text; "" for nil.
func valueOf[T any](value *T) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(*value)
}
