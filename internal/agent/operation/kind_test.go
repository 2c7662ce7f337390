// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
)

// TestWhatGoesOnWithoutItsCaller: a read or change whose caller leaves asks Windows nothing more if it had asked nothing,
// else it goes on. What a read asks side by side goes on in no case, what a change asks so in each.
func TestWhatGoesOnWithoutItsCaller(t *testing.T) {
	part := func(f func(*Operation) (int, error)) func(*Operation) (int, error) {
		return func(o *Operation) (int, error) {
			ForEach(o, []Object{Disk(2)}, func(child *Operation, _ int) (int, error) { return f(child) })
			return 0, nil
		}
	}
	type operation func(ctx context.Context, n *Runner, f func(*Operation) (int, error)) (int, error)
	read := operation(func(ctx context.Context, n *Runner, f func(*Operation) (int, error)) (int, error) {
		return Read(ctx, n, On("test"), f)
	})
	change := operation(func(ctx context.Context, n *Runner, f func(*Operation) (int, error)) (int, error) {
		return Change(ctx, n, On("test", Disk(1)), f)
	})
	for name, test := range map[string]struct {
		run    operation
		goesOn map[bool]bool // by whether it has asked
	}{
		"a read":   {read, map[bool]bool{false: false, true: true}},
		"a change": {change, map[bool]bool{false: false, true: true}},
		"a part of a read": {func(ctx context.Context, n *Runner, f func(*Operation) (int, error)) (int, error) {
			return read(ctx, n, part(f))
		}, map[bool]bool{false: false, true: false}},
		"a part of a change": {func(ctx context.Context, n *Runner, f func(*Operation) (int, error)) (int, error) {
			return change(ctx, n, part(f))
		}, map[bool]bool{false: true, true: true}},
	} {
		for asks, goesOn := range test.goesOn {
			t.Run(fmt.Sprintf("%s, asked %t", name, asks), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n, proceed := NewRunner(Config{}), make(chan struct{})
					var got error
					ctx, leave := context.WithCancel(t.Context())
					go func() {
						_, _ = test.run(ctx, n, func(o *Operation) (int, error) {
							if asks {
								if err := o.Commit(); err != nil {
									t.Error(err)
								}
							}
							<-proceed
							got = o.Commit()
							return 0, nil
						})
					}()
					synctest.Wait()
					leave()
					synctest.Wait()
					close(proceed)
					if err := n.Drain(t.Context()); err != nil {
						t.Error(err)
					}
					if (got == nil) != goesOn {
						t.Errorf("its next call: %v; goes on %t", got, goesOn)
					}
				})
			})
		}
	}
}
