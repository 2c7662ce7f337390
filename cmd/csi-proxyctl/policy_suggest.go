// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubernetes-csi/csi-proxy/client/kubeletpath"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
)

// An auditEntry holds the fields of an audit log's line that a policy depends on.
type auditEntry struct {
	Image    string          `json:"image"`
	UID      *uint32         `json:"uid"`
	SID      string          `json:"sid"`
	Elevated *bool           `json:"elevated"`
	Method   string          `json:"method"`
	Request  json.RawMessage `json:"request"`
	Bytes    int             `json:"request_bytes"`
	Code     string          `json:"code"`
	Reason   string          `json:"reason"`
}

// A suggestion is a policy that allows what an audit log shows, and no more.
type suggestion struct {
	rules        []policy.RuleFile
	leftOut      int // calls that were refused, or whose caller or request the log does not have
	namesLeftOut int // names in calls that failed, or with a *, which is a pattern in a policy
}

// maxAuditLine is more than the longest line of an audit log.
const maxAuditLine = 1 << 20

func suggestPolicy(log io.Reader) (*suggestion, error) {
	s, all := &suggestion{}, faults.Methods()
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, maxAuditLine)
	for number := 1; lines.Scan(); number++ {
		var e auditEntry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("line %d is not one of an audit log: %w", number, err)
		}
		// Other lines are about the admin endpoint and health, or about lost lines.
		if slices.Contains(all, e.Method) && !s.add(e) {
			s.leftOut++
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	for i := range s.rules {
		minimize(&s.rules[i])
	}
	return s, nil
}

// add adds a call to the rule of its client. It reports whether it could.
func (s *suggestion) add(e auditEntry) bool {
	if e.Code == "PermissionDenied" && e.Reason == reason.Policy || e.Code == "InvalidArgument" || e.Bytes > 0 ||
		e.Reason == reason.OutsideWorkingDirs {
		return false
	}
	c, ok := e.client()
	if !ok {
		return false
	}
	request, err := newestRequest(e.Method, func(message any) error {
		text := protojson.UnmarshalOptions{DiscardUnknown: true}
		return text.Unmarshal(e.Request, message.(proto.Message)) //nolint:forcetypeassert // the API's messages are
	})
	if err != nil {
		return false
	}
	r := s.ruleOf(c, e)
	addTo(&r.Methods, policy.Written(e.Method))
	_ = node.EachText(request, func(_ protoreflect.FieldDescriptor, meaning node.Meaning, text string) error {
		s.addName(r, e, meaning, text)
		return nil
	})
	return true
}

// newestRequest returns the newest version's request for a request of the method at a path on the wire, of any version,
// which decode reads.
func newestRequest(path string, decode func(any) error) (proto.Message, error) {
	m, _ := node.MethodAt(path)
	request := m.NewRequest()
	at, _ := versions.ParsePath(path)
	for _, g := range versions.Groups() {
		for _, r := range g.Of(at.Version) {
			if g.Name == at.Group && r.Method == at.Method && r.Mapping != nil {
				return request, r.Mapping.RequestUp(decode, request)
			}
		}
	}
	return request, decode(request)
}

// client returns the caller's properties that stay the same after a restart.
func (e auditEntry) client() (policy.ClientFile, bool) {
	c := policy.ClientFile{UID: e.UID, SID: policy.Name(e.SID), Elevated: e.Elevated}
	if path, err := winpath.Parse(e.Image, winpath.Options{}); err == nil &&
		strings.HasPrefix(e.Image, string(path.Drive())+`:\`) {
		c.Image = policy.Name(path.String())
	}
	return c, c.UID != nil || c.SID != "" || c.Image != ""
}

// ruleOf returns the rule of a client, until the next one is added.
func (s *suggestion) ruleOf(c policy.ClientFile, e auditEntry) *policy.RuleFile {
	known := func(r policy.RuleFile) bool { return reflect.DeepEqual(r.Clients[0], c) }
	if i := slices.IndexFunc(s.rules, known); i >= 0 {
		return &s.rules[i]
	}
	name := "client-" + strconv.Itoa(len(s.rules)+1)
	if base := e.Image[strings.LastIndex(e.Image, `\`)+1:]; base != "" && c.Image != "" {
		name += "-" + base
	}
	s.rules = append(s.rules, policy.RuleFile{Name: policy.Name(name), Clients: []policy.ClientFile{c}})
	return &s.rules[len(s.rules)-1]
}

func (s *suggestion) addName(r *policy.RuleFile, e auditEntry, meaning node.Meaning, text string) {
	if meaning >= node.NamesPath && (e.Code != codes.OK.String() || strings.Contains(text, "*")) {
		s.namesLeftOut++
		return
	}
	switch meaning {
	case node.NamesPath:
		if path, err := winpath.Parse(text, winpath.Options{ForwardSlash: true}); err == nil {
			addTo(&r.Directories, driverDir(path))
		}
	case node.NamesShare:
		if unc, err := winpath.ParseUNC(text); err == nil {
			addTo(&r.SMBServers, winpath.Fold(unc.Server))
		}
	case node.NamesService:
		addTo(&r.Services, text)
	case node.NamesPortal:
		addTo(&r.ISCSIPortals, winpath.Fold(text))
	case node.NamesTarget:
		addTo(&r.ISCSITargets, winpath.LowerASCII(text))
	}
}

// minimize sorts the lists, and drops directories that lie in others.
func minimize(r *policy.RuleFile) {
	for _, list := range [][]policy.Name{r.Methods, r.Directories, r.Services, r.SMBServers, r.ISCSIPortals,
		r.ISCSITargets} {
		slices.Sort(list)
	}
	all := slices.Clone(r.Directories)
	r.Directories = slices.DeleteFunc(r.Directories, func(dir policy.Name) bool {
		return slices.ContainsFunc(all, func(other policy.Name) bool {
			above := strings.TrimSuffix(string(other), `\`) + `\`
			return other != dir && strings.HasPrefix(winpath.Fold(string(dir)), winpath.Fold(above))
		})
	})
}

// driverDir returns the directory of a driver that a path lies in: that of all pods, the driver's own below plugins, or
// else the parent. Kubelet names them all, so the next volume lies there too.
func driverDir(path winpath.Path) string {
	names, staged := path.Components(), strings.Split(kubeletpath.Staged, "/") // plugins, kubernetes.io, csi, …
	pods, _, _ := strings.Cut(kubeletpath.Published, "/")
	depth := max(len(names)-1, 0)
	for i, name := range names {
		below := names[i+1:]
		switch folded := winpath.Fold(name); {
		case folded == pods:
			depth = i + 1
		case folded == staged[0] && len(below) > 0 && winpath.Fold(below[0]) != staged[1]:
			depth = i + 2
		case folded == staged[0] && len(below) > 2 && winpath.Fold(below[1]) == staged[2]:
			depth = i + 4
		default:
			continue
		}
		break
	}
	return string(path.Drive()) + `:\` + strings.Join(names[:depth], `\`)
}

func addTo(list *[]policy.Name, text string) {
	if name := policy.Name(text); !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

func (s *suggestion) text() ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := encoder.Encode(policy.File{APIVersion: policy.APIVersion, Kind: policy.Kind, Rules: s.rules})
	return out.Bytes(), err
}
