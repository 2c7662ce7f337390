// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
)

// asClient is the number of a client, in a context.
type asClient struct{}

type clientNumber int

func (clientNumber) Release()      {}
func (c clientNumber) Client() any { return c }

func byClient(ctx context.Context, number int) context.Context {
	return context.WithValue(ctx, asClient{}, clientNumber(number))
}

// blackHoles returns a node with servers hole0 and so on that never answer who maps their shares, until they are let go.
func blackHoles(t *testing.T, servers int) (n *Node, hanging *atomic.Int32, letGo chan struct{}) {
	t.Helper()
	hanging, letGo = &atomic.Int32{}, make(chan struct{})
	n, k := smbNode(t, func(_ context.Context, call kernel.Call, do func() error) error {
		if call.Function == "CreateSMBGlobalMapping" && strings.HasPrefix(call.Object, `\\hole`) {
			hanging.Add(1)
			<-letGo
			hanging.Add(-1)
		}
		return do()
	})
	n.hold = func(ctx context.Context) Held {
		held, _ := ctx.Value(asClient{}).(clientNumber)
		return held
	}
	for i := range servers {
		for _, share := range []string{"a", "b", "c", "d"} {
			if err := k.AddSMBShare(fmt.Sprintf("hole%d", i), share, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	return n, hanging, letGo
}

func mapIt(ctx context.Context, n *Node, remote string) error {
	return n.SMB.NewSMBGlobalMapping(ctx, remote, "", "csi", Secret("csi-password"))
}

func refusedAsHanging(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Class == Unavailable && e.Reason == reason.NotAnswering
}

// Mappings to a server that never answers hold up neither other mappings nor paths to shares. After two of them further
// ones of that server are refused, at once if the two have been hanging for long.
func TestBlackHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, hanging, letGo := blackHoles(t, 1)
		var calls sync.WaitGroup
		for _, share := range []string{"a", "b"} {
			calls.Go(func() {
				if err := mapIt(t.Context(), n, `\\hole0\`+share); err != nil {
					t.Errorf("when the server answers again: %v", err)
				}
			})
		}
		synctest.Wait()
		begin := time.Now()
		if err := mapIt(t.Context(), n, `\\hole0\c`); !refusedAsHanging(err) || time.Since(begin) != hungTime {
			t.Errorf("the third: %v after %v, want %v", err, time.Since(begin), hungTime)
		}
		begin = time.Now()
		for range 8 {
			if err := mapIt(t.Context(), n, `\\hole0\d`); !refusedAsHanging(err) {
				t.Errorf("a later one: %v", err)
			}
		}
		if err := mapIt(t.Context(), n, testShare); err != nil {
			t.Errorf("another server: %v", err)
		}
		if waited := time.Since(begin); waited != 0 || hanging.Load() != 2 {
			t.Errorf("%v were waited, %d calls hang", waited, hanging.Load())
		}
		close(letGo)
		calls.Wait()
		if err := mapIt(t.Context(), n, `\\hole0\c`); err != nil {
			t.Errorf("when the server answers again: %v", err)
		}
	})
}

// A client whose mappings hang on many servers uses up its own share of the threads; another client's mapping is made.
func TestBlackHolesOfOneClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const servers = kernel.MostMaps
		n, hanging, letGo := blackHoles(t, servers)
		first := byClient(t.Context(), 1)
		var calls sync.WaitGroup
		var refused atomic.Int32
		for i := range servers {
			calls.Go(func() {
				err := mapIt(first, n, fmt.Sprintf(`\\hole%d\a`, i))
				if refusedAsHanging(err) {
					refused.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		time.Sleep(hungTime)
		synctest.Wait()
		if hanging.Load() != mapsOfClient || refused.Load() != servers-mapsOfClient {
			t.Errorf("%d calls hang and %d are refused, want %d and %d", hanging.Load(), refused.Load(), mapsOfClient, servers-mapsOfClient)
		}
		if err := mapIt(first, n, testShare); !refusedAsHanging(err) {
			t.Errorf("the same client: %v", err)
		}
		if err := mapIt(byClient(t.Context(), 2), n, testShare); err != nil {
			t.Errorf("another client: %v", err)
		}
		close(letGo)
		calls.Wait()
	})
}

// More mappings than there are threads, of servers that answer after a while, are all made.
func TestManySlowMappings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at, most atomic.Int32
		n, k := smbNode(t, func(_ context.Context, call kernel.Call, do func() error) error {
			if call.Function == "CreateSMBGlobalMapping" {
				now := at.Add(1)
				for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
				}
				time.Sleep(8 * time.Second)
				at.Add(-1)
			}
			return do()
		})
		var calls sync.WaitGroup
		for i := range 3 * kernel.MostMaps {
			remote := fmt.Sprintf(`\\server%d\share`, i%7)
			if i >= 7 {
				remote += fmt.Sprint(i)
			}
			parts := strings.Split(remote, `\`)
			if err := k.AddSMBShare(parts[2], parts[3], nil); err != nil {
				t.Fatal(err)
			}
			calls.Go(func() {
				if err := mapIt(t.Context(), n, remote); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		if most.Load() != mapsOfClient {
			t.Errorf("%d at a time, want %d", most.Load(), mapsOfClient)
		}
	})
}

// A mapping that is to be made again is not removed before there is a place to make it in.
func TestNothingIsRemovedForACallThatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _, letGo := blackHoles(t, 1)
		if err := n.kernel.CreateSMBGlobalMapping(`\\hole0\d`, "csi", Secret("csi-password"), true); err != nil {
			t.Fatal(err)
		}
		var calls sync.WaitGroup
		for _, share := range []string{"a", "b"} {
			calls.Go(func() { _ = mapIt(t.Context(), n, `\\hole0\`+share) })
		}
		synctest.Wait()
		time.Sleep(hungTime)
		around := n.around
		n.around = func(ctx context.Context, call kernel.Call, do func() error) error {
			if strings.HasPrefix(call.Object, `\\?\UNC\hole0\d`) {
				return &kernel.Error{Function: call.Function, Object: call.Object, Code: 1326}
			}
			return around(ctx, call, do)
		}
		if err := mapIt(t.Context(), n, `\\hole0\d`); !refusedAsHanging(err) {
			t.Errorf("got %v", err)
		}
		if mappings, err := n.kernel.SMBGlobalMappings(); err != nil || len(mappings) != 1 {
			t.Errorf("mappings: %v, %v", mappings, err)
		}
		close(letGo)
		calls.Wait()
	})
}
