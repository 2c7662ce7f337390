// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"testing"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/journal"
)

// A field that the agent does not know, in a message within a request, may be a secret as well.
func TestUnknownFieldsWithinAreNotKept(t *testing.T) {
	fault := &nodeapi.Fault{Function: "Flush"}
	fault.ProtoReflect().SetUnknown([]byte("\x92\x3f\x09hush-hush"))
	j := newJournal(1)
	j.BeginAPI("id", "e", "/m").Request(&nodeapi.AddFaultRequest{Fault: fault})
	kept := find(t, j, journal.Query{}).Running[0].Request.(*nodeapi.AddFaultRequest)
	if unknown := kept.GetFault().ProtoReflect().GetUnknown(); len(unknown) != 0 ||
		kept.GetFault().GetFunction() != "Flush" {
		t.Errorf("kept %v", kept)
	}
}
