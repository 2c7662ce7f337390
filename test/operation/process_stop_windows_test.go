// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// stops returns the ways in which an agent ends. A process without a console can only be killed; the service is stopped
// through the Service Control Manager, which its own tests do.
func stops() []stop { return []stop{{"killed", false, (*testnode.Process).Kill}} }

// meet does nothing: the pipes have the names that the clients know.
func meet(t *testing.T) { t.Helper() }
