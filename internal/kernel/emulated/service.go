// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// ServiceSpec describes a service of the node.
type ServiceSpec struct {
	Name         string
	DisplayName  string   // empty: the name
	StartType    uint32   // win32.SERVICE_AUTO_START and so on
	Dependencies []string // services, and with a leading + load order groups, of which there are none here
	Running      bool     // from the start; after a reboot it is StartType that counts
	Unstoppable  bool     // does not accept SERVICE_CONTROL_STOP

	// PendingQueries is how many queries find the service on its way, each time it starts or stops: whoever wants it
	// to be there has to wait. No time passes for a service that nobody asks for.
	PendingQueries int

	// PendingTime is how long a service is on its way at least, by the node's clock, each time it starts or stops.
	PendingTime time.Duration

	// StartExitCode, unless it is 0, is what the service stops with again when it was started; with
	// ERROR_SERVICE_SPECIFIC_ERROR, StartServiceExitCode is the service's own code.
	StartExitCode        uint32
	StartServiceExitCode uint32
}

// defaultServices are the services of DefaultScenario.
func defaultServices() []ServiceSpec {
	const queries = 3
	running := func(name string, dependencies ...string) ServiceSpec {
		return ServiceSpec{
			Name: name, StartType: win32.SERVICE_AUTO_START, Dependencies: dependencies, Running: true, PendingQueries: queries,
		}
	}
	return []ServiceSpec{
		running("LanmanWorkstation"),
		running("MSiSCSI"),
		running("W32Time"),
		running("csi-dependent", "MSiSCSI"),
		{Name: "Spooler", StartType: win32.SERVICE_DEMAND_START, PendingQueries: queries},
	}
}

// serviceState is one service as node.json has it. How far a pending state has come is not kept: after a death it
// begins anew.
type serviceState struct {
	Name                 string        `json:"name"`
	DisplayName          string        `json:"displayName"`
	StartType            uint32        `json:"startType"`
	Dependencies         []string      `json:"dependencies,omitempty"`
	Unstoppable          bool          `json:"unstoppable,omitempty"`
	PendingQueries       int           `json:"pendingQueries,omitempty"`
	PendingTime          time.Duration `json:"pendingTime,omitempty"`
	StartExitCode        uint32        `json:"startExitCode,omitempty"`
	StartServiceExitCode uint32        `json:"startServiceExitCode,omitempty"`

	State           uint32    `json:"state"`
	Since           time.Time `json:"since,omitzero"`     // when a pending state began, by the node's clock
	ExitCode        uint32    `json:"exitCode,omitempty"` // of the last stop
	ServiceExitCode uint32    `json:"serviceExitCode,omitempty"`
}

// serviceStates makes the services of a new node.
func serviceStates(specs []ServiceSpec) services {
	var states services
	for _, spec := range specs {
		s := serviceState{
			Name: spec.Name, DisplayName: spec.DisplayName, StartType: spec.StartType, Dependencies: slices.Clone(spec.Dependencies),
			Unstoppable: spec.Unstoppable, PendingQueries: spec.PendingQueries, PendingTime: spec.PendingTime,
			StartExitCode: spec.StartExitCode, StartServiceExitCode: spec.StartServiceExitCode, State: win32.SERVICE_STOPPED,
		}
		if s.DisplayName == "" {
			s.DisplayName = s.Name
		}
		if spec.Running {
			s.State = win32.SERVICE_RUNNING
		}
		states = append(states, s)
	}
	return states
}

// services are all services of the node; the zero value has none.
type services []serviceState

// find gives the service of a name in any case, nil when there is none.
func (all services) find(name string) *serviceState {
	for i := range all {
		if winpath.Fold(all[i].Name) == winpath.Fold(name) {
			return &all[i]
		}
	}
	return nil
}

// needs are the services that one depends on directly and that exist. Windows refuses to start it when one does not.
func (all services) needs(s *serviceState) (needed []*serviceState, missing bool) {
	for _, name := range s.Dependencies {
		if strings.HasPrefix(name, "+") {
			continue
		}
		if d := all.find(name); d != nil {
			needed = append(needed, d)
		} else {
			missing = true
		}
	}
	return needed, missing
}

// above are the services that depend on one, directly or not: those that depend on others before those others.
func (all services) above(s *serviceState) (found []*serviceState) {
	seen := map[*serviceState]bool{}
	var visit func(s *serviceState)
	visit = func(s *serviceState) {
		for i := range all {
			d := &all[i]
			if needed, _ := all.needs(d); seen[d] || !slices.Contains(needed, s) {
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

// dependents are those above that are not stopped.
func (all services) dependents(s *serviceState) []*serviceState {
	return slices.DeleteFunc(all.above(s), func(d *serviceState) bool { return d.State == win32.SERVICE_STOPPED })
}

// check refuses services that the rest could not work with.
func (all services) check() error {
	for i := range all {
		s := &all[i]
		switch {
		case !isServiceName(s.Name):
			return fmt.Errorf("a service has the name %q", s.Name)
		case all.find(s.Name) != s:
			return fmt.Errorf("service %s is there twice", s.Name)
		case s.StartType > win32.SERVICE_DISABLED:
			return fmt.Errorf("service %s has the start type %d", s.Name, s.StartType)
		case s.State < win32.SERVICE_STOPPED || s.State > win32.SERVICE_PAUSED:
			return fmt.Errorf("service %s has the state %d", s.Name, s.State)
		case slices.Contains(all.above(s), s):
			return fmt.Errorf("service %s depends on itself", s.Name)
		}
	}
	return nil
}

// isServiceName accepts what a service can be called: 1 to 256 characters without slashes (CreateServiceW).
//
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-createservicew
func isServiceName(name string) bool {
	return name != "" && len(name) <= 256 && !strings.ContainsAny(name, "\\/\x00")
}
