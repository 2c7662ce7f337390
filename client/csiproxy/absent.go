// SPDX-License-Identifier: Apache-2.0

package csiproxy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

// An absentError means that no agent serves any version of a group: each endpoint is missing, or a socket that a killed
// agent left. It is no fs.ErrNotExist, which a caller would take for that of a volume's path.
type absentError struct {
	missing, dead []*dial.Error // the newest version's first
}

// add takes the failure to open an endpoint that no agent serves, and returns false for another failure.
func (a *absentError) add(err error) bool {
	endpoint := (*dial.Error)(nil)
	switch {
	case !errors.As(err, &endpoint):
		return false
	case errors.Is(err, fs.ErrNotExist):
		a.missing = append(a.missing, endpoint)
	case errors.Is(err, syscall.ECONNREFUSED):
		a.dead = append(a.dead, endpoint)
	default:
		return false
	}
	return true
}

// Error names the newest version's endpoint and says what is wrong with it.
func (a *absentError) Error() string {
	if len(a.dead) > 0 {
		return fmt.Sprintf("nothing listens at %s any more, so the agent was killed; check why the csiproxy service or "+
			"DaemonSet does not start it again", a.dead[0].Endpoint())
	}
	return fmt.Sprintf("%s does not exist%s; check that the csiproxy service or DaemonSet is running and, in a "+
		"container, that its pipes are mounted", a.missing[0].Endpoint(), a.older())
}

// older says that older versions were looked for, too.
func (a *absentError) older() string {
	switch n := len(a.missing) + len(a.dead) - 1; n {
	case 0:
		return ""
	case 1:
		return ", nor does that of the older version"
	default:
		return fmt.Sprintf(", nor do those of %d older versions", n)
	}
}

// unreached returns the *Error of a call without a connection.
func unreached(group string, cause error) error {
	e := &Error{Group: group, Code: codes.Unavailable, err: cause, noAgent: true}
	switch {
	case errors.Is(cause, context.Canceled):
		e.Code = codes.Canceled
	case errors.Is(cause, context.DeadlineExceeded):
		e.Code = codes.DeadlineExceeded
	}
	e.Message = fmt.Sprintf("no csi-proxy agent can be reached: %v", cause)
	return e
}

// left returns the *Error of a call to a group that is not served here, while others of the agent are.
func left(table versions.Group, cause *absentError) error {
	endpoint := slices.Concat(cause.missing, cause.dead)[0]
	if table.Name == nodesteps {
		return &Error{Group: table.Name, Code: codes.Unimplemented, err: cause, Message: fmt.Sprintf(
			"not supported by the agent: it has no group nodesteps for this pod: add the pipe %s to the volumes of the "+
				"DaemonSet, or nodesteps/%s to the agent's -api; the original's agent has no such group", endpoint.Name, table.Hub)}
	}
	return &Error{Group: table.Name, Code: codes.Unavailable, err: cause, noAgent: true, Message: fmt.Sprintf(
		"the agent answers, but the pipe %s is not in this pod%s; add it to the DaemonSet's volumes, or the group to the "+
			"agent's -api", endpoint.Name, cause.older())}
}

// nodesteps is the group that the original's agent does not have.
const nodesteps = "nodesteps"
