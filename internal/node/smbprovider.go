// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
)

// WMI has few threads for the calls that map shares, and each keeps one until its server has answered.
const (
	mapsOfServer = 2                // calls to one server at a time
	mapsWait     = 10 * time.Second // of a further one
)

// mapAnew asks Windows to map a share, which takes as long as the server takes to answer. Windows does not map over a
// mapping, whatever its state, so that goes first.
func (o *op) mapAnew(key, userName string, password Secret) error {
	server := serverOf(key)
	wait, cancel := context.WithTimeout(o.Context, mapsWait)
	defer cancel()
	release, err := o.node.maps.Acquire(wait, server)
	if err != nil {
		return errdefs.Unavailable.Errorf(reason.NotAnswering,
			"cannot map %s: %d calls that map shares of the server %s hang in Windows; no more are begun until one of them ends",
			key, mapsOfServer, server)
	}
	defer release()
	if err := o.unmap(key); err != nil {
		return err
	}
	return o.Kernel.CreateSMBGlobalMapping(key, userName, password, o.node.requirePrivacy)
}
