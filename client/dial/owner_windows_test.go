// SPDX-License-Identifier: Apache-2.0

package dial_test

import (
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	winio "github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/client/dial"
)

// A pipe that another user made before the agent gets no byte: it may wait for passwords.
func TestAPipeOfAnotherUserIsRefused(t *testing.T) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		t.Fatal(err)
	}
	for owner, refused := range map[string]string{
		"O:SY": "", "O:BA": "", "O:" + user.User.Sid.String(): "",
		"O:BU": "S-1-5-32-545", "O:S-1-5-21-1-2-3-1013": "S-1-5-21-1-2-3-1013",
	} {
		name := "csi-proxy-test-owner-" + strings.NewReplacer(":", "", "-", "").Replace(owner)
		listener, err := winio.ListenPipe(`\\.\pipe\`+name, &winio.PipeConfig{SecurityDescriptor: owner + "D:P(A;;GA;;;WD)"})
		if err != nil {
			t.Skipf("this process may not make a pipe of %s, for which it needs the privilege of restoring: %v", owner, err)
		}
		var readers sync.WaitGroup
		var sent atomic.Int64
		readers.Go(func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				readers.Go(func() {
					defer conn.Close()
					n, _ := conn.Read(make([]byte, 100))
					sent.Add(int64(n))
				})
			}
		})
		occupied := io.Closer(io.NopCloser(nil))
		if onWine() { // the first instance is not for clients
			if first, err := winio.DialPipe(`\\.\pipe\`+name, nil); err == nil {
				occupied = first
			}
		}
		connection, err := dial.Open(t.Context(), `\\.\pipe\`+name, dial.Options{})
		if err == nil {
			_ = connection.Close()
		}
		if got := err != nil && strings.Contains(err.Error(), "belongs to") && strings.Contains(err.Error(), refused); got !=
			(refused != "") {
			t.Errorf("%s: got the error %v, want a refusal: %t", owner, err, refused != "")
		}
		_, _ = occupied.Close(), listener.Close()
		readers.Wait()
		if refused != "" && sent.Load() != 0 {
			t.Errorf("%s: %d bytes were sent", owner, sent.Load())
		}
	}
}
