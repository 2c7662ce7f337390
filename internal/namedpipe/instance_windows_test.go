// SPDX-License-Identifier: Apache-2.0

package namedpipe

import (
	"fmt"
	"io"
	"os"
	"testing"
	"time"
)

// TestALostRequestIsReplaced cancels what the free instances wait with, which is what Windows does when the thread ends that
// asked for it.
func TestALostRequestIsReplaced(t *testing.T) {
	path := fmt.Sprintf(`\\.\pipe\csi-proxy-lost-%d`, os.Getpid())
	s, err := NewSet()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	security, err := CurrentUser()
	if err != nil {
		t.Fatal(err)
	}
	listening, err := s.Listen(path, security)
	if err != nil {
		t.Fatal(err)
	}
	l := listening.(*listener) //nolint:forcetypeassert // Listen makes no other
	lost := map[*instance]bool{}
	s.do(func() {
		for _, i := range l.free {
			lost[i] = true
			i.cancel()
		}
	})
	if len(lost) == 0 {
		t.Fatal("no instance waits for clients")
	}
	replaced := func() (all bool) {
		all = true
		s.do(func() {
			all = len(l.free) > 0
			for _, i := range l.free {
				all = all && !lost[i]
			}
		})
		return all
	}
	for until := time.Now().Add(time.Minute); !replaced(); {
		if time.Now().After(until) {
			t.Fatal("the instances that lost their request are still there")
		}
	}

	go func() {
		server, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(server, "hello")
		_ = server.Close()
	}()
	client, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if got, _ := io.ReadAll(client); string(got) != "hello" {
		t.Errorf("the server's word: got %q, want hello", got)
	}
}
