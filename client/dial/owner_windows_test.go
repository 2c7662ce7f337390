// SPDX-License-Identifier: Apache-2.0

package dial_test

import (
	"strings"
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
		read := make(chan int, 2)
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				go func() {
					defer conn.Close()
					n, _ := conn.Read(make([]byte, 100))
					read <- n
				}()
			}
		}()
		if onWine() { // the first instance is not for clients
			if occupied, err := winio.DialPipe(`\\.\pipe\`+name, nil); err == nil {
				t.Cleanup(func() { _ = occupied.Close() })
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
		if refused != "" {
			if n := <-read; n != 0 {
				t.Errorf("%s: %d bytes were sent", owner, n)
			}
		}
		_ = listener.Close()
	}
}
