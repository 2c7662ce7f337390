// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net"

	"github.com/kubernetes-csi/csi-proxy/internal/namedpipe"
)

// pipes is the Transport of named pipes.
type pipes struct {
	set      *namedpipe.Set
	prefix   string
	security string // SDDL
	private  string // likewise, of private endpoints
}

// Open takes the place for an agent. Whether the names are free shows with the first Listen.
func (p Place) Open() (Transport, error) {
	private := namedpipe.Administrators
	if p.OwnUser {
		user, err := namedpipe.CurrentUser()
		if err != nil {
			return nil, err
		}
		private = user
	}
	t := &pipes{prefix: p.PipePrefix, security: p.PipeSecurity, private: private}
	if t.security == "" {
		t.security = private
	}
	var err error
	if t.set, err = namedpipe.NewSet(); err != nil {
		return nil, err
	}
	return t, nil
}

// CheckPipeSecurity checks a security descriptor in SDDL. It fails for a text that Windows does not take, and for one that
// lets everybody in as it has no access control list.
func CheckPipeSecurity(sddl string) error { return namedpipe.CheckSecurity(sddl) }

func (t *pipes) Listen(name string) (net.Listener, error) {
	return t.set.Listen(t.Path(name), t.security)
}

func (t *pipes) Path(name string) string { return `\\.\pipe\` + t.prefix + name }

func (t *pipes) Private() Transport {
	p := *t
	p.security = t.private
	return &p
}

func (t *pipes) Close() error { return t.set.Close() }
