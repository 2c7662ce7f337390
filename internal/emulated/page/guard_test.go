// SPDX-License-Identifier: Apache-2.0

package page

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// The number of requests that are answered at once is bounded.
func TestManyRequests(t *testing.T) {
	arrived, proceed := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer((&page{}).guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-proceed
	})))
	defer s.Close()
	get := func() int {
		r, err := http.Get(s.URL)
		if err != nil {
			t.Error(err)
			return 0
		}
		_ = r.Body.Close()
		return r.StatusCode
	}
	codes := make(chan int, maxAnswers)
	for range maxAnswers {
		go func() { codes <- get() }()
		<-arrived
	}
	if code := get(); code != http.StatusServiceUnavailable {
		t.Errorf("one more: got %d", code)
	}
	close(proceed)
	for range maxAnswers {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("got %d", code)
		}
	}
}

// Clients that do not read their answers keep no other from the page.
func TestUnreadAnswers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer Serve(l, (&page{}).guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 8<<20)) // more than the system keeps
	})))()
	for range maxAnswers + 1 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.(*net.TCPConn).SetReadBuffer(1) //nolint:forcetypeassert // of the network tcp
		_, _ = c.Write([]byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := http.Get("http://" + l.Addr().String() + "/")
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Errorf("got %s", r.Status)
	}
}
