// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"os"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// An initiator is the fake iscsidsc.dll of test/windows/fakes/iscsidsc, in the place where Windows has its own. Its
// README describes the files and the lines of control.txt.
type initiator struct{ fakeFolder }

const (
	initiatorFolder = `C:\iscsidsc-fake`
	initiatorDLL    = `C:\windows\system32\iscsidsc.dll`
)

// fakeInitiator installs the fake until the end of the test, for agents that start after it. The test fails if a call
// broke a rule of its function's page.
func fakeInitiator(t *testing.T) *initiator {
	t.Helper()
	requireWine(t, "an initiator of its own")
	dll := fakeDLL(t, "fake-iscsidsc.dll")
	err := os.Mkdir(initiatorFolder, 0o700)
	if err == nil {
		err = os.WriteFile(initiatorDLL, dll, 0o600)
	}
	caller.OK(t, err)
	i := &initiator{fakeFolder{t, initiatorFolder}}
	t.Cleanup(func() {
		i.end()
		for _, path := range []string{initiatorFolder, initiatorDLL} {
			if err := os.RemoveAll(path); err != nil {
				t.Error(err)
			}
		}
	})
	return i
}
