// SPDX-License-Identifier: Apache-2.0

package page

import (
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
