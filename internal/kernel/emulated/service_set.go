// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

var (
	// ErrNoSuchService means that there is no service of the name.
	ErrNoSuchService = errors.New("no such service")
	// ErrInvalidService means that a change of a service is not valid.
	ErrInvalidService = errors.New("invalid service")
)

// NodeService is a service of the node.
type NodeService struct {
	Name           string
	State          uint32 // win32.SERVICE_RUNNING and so on
	StartType      uint32 // win32.SERVICE_AUTO_START and so on
	PendingQueries int
	PendingTime    time.Duration
}

// ServiceChange is a change of a service. A nil field stays.
type ServiceChange struct {
	State          *uint32 // win32.SERVICE_STOPPED and so on
	StartType      *uint32 // win32.SERVICE_BOOT_START to SERVICE_DISABLED
	PendingQueries *int
	PendingTime    *time.Duration
}

// Services returns the services. It is not a query: pending services make no progress.
func (n *Node) Services() (list []NodeService) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.state.Services {
		list = append(list, NodeService{s.Name, s.State, s.StartType, s.PendingQueries, s.PendingTime})
	}
	return list
}

// SetService changes a service at once, as a failure or an administrator does. A pending state begins now. Dependencies
// are ignored.
func (n *Node) SetService(name string, change ServiceChange) error {
	const mostTime = 24 * time.Hour
	switch {
	case change.State != nil && (*change.State < win32.SERVICE_STOPPED || *change.State > win32.SERVICE_PAUSED):
		return fmt.Errorf("%w: the state %d", ErrInvalidService, *change.State)
	case change.StartType != nil && *change.StartType > win32.SERVICE_DISABLED:
		return fmt.Errorf("%w: the start type %d", ErrInvalidService, *change.StartType)
	case change.PendingQueries != nil && (*change.PendingQueries < 0 || *change.PendingQueries > mostQueries):
		return fmt.Errorf("%w: it can be pending for 0 to %d queries", ErrInvalidService, mostQueries)
	case change.PendingTime != nil && (*change.PendingTime < 0 || *change.PendingTime > mostTime):
		return fmt.Errorf("%w: it can be pending for at most %v", ErrInvalidService, mostTime)
	}
	return n.control(func() error {
		if n.state.Services.find(name) == nil {
			return fmt.Errorf("service %q: %w", name, ErrNoSuchService)
		}
		return n.update(func(next *state) {
			s := next.Services.find(name)
			if change.State != nil {
				s.State, s.Since, s.ExitCode, s.ServiceExitCode = *change.State, next.Clock.now().Round(0), 0, 0
				delete(n.steps, winpath.Fold(s.Name))
			}
			set(&s.StartType, change.StartType)
			set(&s.PendingQueries, change.PendingQueries)
			set(&s.PendingTime, change.PendingTime)
		})
	})
}

// set sets a field, unless the value is nil.
func set[T any](field, given *T) {
	if given != nil {
		*field = *given
	}
}
