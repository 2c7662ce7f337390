// SPDX-License-Identifier: Apache-2.0

package services

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// MostQueries is how many queries can find a service or a login pending: a caller that waits gives up long before.
const MostQueries = 1000

// Spec is a service of the node.
type Spec struct {
	Name        string `json:"name"`        // required
	DisplayName string `json:"displayName"` // left out: the name
	// `boot`, `system`, `automatic`, the default, `manual`, `disabled`
	StartType StartType `yaml:"start" json:"startType"`
	// names of services; a leading + means a load order group, of which there are none here
	Dependencies []string `json:"dependencies,omitempty"`
	Running      bool     `yaml:"running" json:"-"`      // it does at first; after a reboot `start` decides
	Unstoppable  bool     `json:"unstoppable,omitempty"` // it does not accept to be stopped
	// how many queries find each start and stop pending; without queries it makes no progress
	PendingQueries int `json:"pendingQueries,omitempty"`
	// the Win32 code with which it stops again when it is started; 0: none
	StartExitCode        uint32 `json:"startExitCode,omitempty"`
	StartServiceExitCode uint32 `json:"startServiceExitCode,omitempty"` // with `startExitCode: 1066`, its own code
}

// Service is a service of the node, as in node.json.
type Service struct {
	Spec
	State           win32.ServiceState `json:"state"`
	ExitCode        uint32             `json:"exitCode,omitempty"` // of the last stop
	ServiceExitCode uint32             `json:"serviceExitCode,omitempty"`
	Queries         int                `json:"-"` // that found it pending; after a death it starts over
}

// New returns the services of a new node. One that does not run was not started since the node's start.
//
// https://learn.microsoft.com/windows/win32/api/winsvc/ns-winsvc-service_status_process
func New(specs []Spec) List {
	var states List
	for _, spec := range specs {
		s := Service{Spec: spec}
		s.DisplayName, s.Running = cmp.Or(spec.DisplayName, spec.Name), false // State replaces it in node.json
		s.enter(win32.SERVICE_STOPPED, win32.ERROR_SERVICE_NEVER_STARTED)
		if spec.Running {
			s.enter(win32.SERVICE_RUNNING, 0)
		}
		states = append(states, s)
	}
	return states
}

// List is all services of the node; the zero value has none.
type List []Service

// Find returns the service of a name in any case, nil if there is none.
func (all List) Find(name string) *Service {
	return setting.Find(all, func(s *Service) bool { return winpath.Fold(s.Name) == winpath.Fold(name) })
}

// dependencies returns the existing services on which s depends directly. If one is missing, Windows refuses to start
// s.
func (all List) dependencies(s *Service) (dependencies []*Service, missing bool) {
	for _, name := range s.Dependencies {
		if strings.HasPrefix(name, "+") {
			continue
		}
		if d := all.Find(name); d != nil {
			dependencies = append(dependencies, d)
		} else {
			missing = true
		}
	}
	return dependencies, missing
}

// above returns the services that depend on s, directly or not, each before those on which it depends itself.
func (all List) above(s *Service) (found []*Service) {
	seen := map[*Service]bool{}
	var visit func(s *Service)
	visit = func(s *Service) {
		for i := range all {
			d := &all[i]
			if dependencies, _ := all.dependencies(d); seen[d] || !slices.Contains(dependencies, s) {
				continue
			}
			seen[d] = true
			visit(d)
			found = append(found, d)
		}
	}
	visit(s)
	return found
}

// Dependents returns the services above s that are not stopped.
func (all List) Dependents(s *Service) []*Service {
	return slices.DeleteFunc(all.above(s), func(d *Service) bool { return d.State == win32.SERVICE_STOPPED })
}

// Check refuses services that the rest of the code could not work with.
func (all List) Check() error {
	for i := range all {
		if err := all.checkOne(&all[i]); err != nil {
			return strictyaml.At(err, "services", i)
		}
	}
	return nil
}

func (all List) checkOne(s *Service) error {
	switch {
	case !IsName(s.Name):
		return fmt.Errorf("a service has the name %q", s.Name)
	case all.Find(s.Name) != s:
		return fmt.Errorf("service %s appears twice", s.Name)
	case s.StartType > Disabled:
		return fmt.Errorf("service %s has the start type %d", s.Name, s.StartType)
	case s.State < win32.SERVICE_STOPPED || s.State > win32.SERVICE_PAUSED:
		return fmt.Errorf("service %s has the state %d", s.Name, s.State)
	case s.PendingQueries < 0 || s.PendingQueries > MostQueries:
		return fmt.Errorf("service %s: pendingQueries must be from 0 to %d", s.Name, MostQueries)
	case slices.Contains(all.above(s), s):
		return fmt.Errorf("service %s depends on itself", s.Name)
	}
	return nil
}

// IsName reports whether a name is valid: 1 to 256 characters without slashes (CreateServiceW).
//
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-createservicew
func IsName(name string) bool {
	return name != "" && len(name) <= 256 && !strings.ContainsAny(name, "\\/\x00")
}

// StartType is when a service starts, in a file a word.
type StartType win32.ServiceStart

// The start types that decide something.
const (
	Automatic = StartType(win32.SERVICE_AUTO_START)
	Disabled  = StartType(win32.SERVICE_DISABLED)
)

// UnmarshalYAML implements strictyaml.Unmarshaler.
func (s *StartType) UnmarshalYAML(decode func(any) error) error {
	var words []string
	for start := win32.SERVICE_BOOT_START; start <= win32.SERVICE_DISABLED; start++ {
		words = append(words, start.String())
	}
	return setting.DecodeWord(s, decode, words...)
}

func (s StartType) String() string { return win32.ServiceStart(s).String() }
