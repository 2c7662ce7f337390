// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/running"
)

// Running lists the operations that have not ended, the oldest first; isCall knows the verbs that are methods. One
// whose callers have given up shows a kernel call that hangs. An operation that asks several disks or volumes side by
// side is listed once more for each of them that has not answered.
func (r *Runner) Running(isCall func(verb string) bool) (all []*api.Operation) {
	r.tasks.Each(func(since time.Time, t *task) {
		request, at := t.request, t.at
		one := &api.Operation{Name: request.String(), Call: isCall(request.Verb), Waiting: !t.begun,
			Age: durationpb.New(time.Since(since))}
		if at != (Object{}) {
			one.Name += " at " + at.String()
		} else if len(request.Objects) > 0 && request.Objects[0].class != wholeNode {
			at = request.Objects[0]
		}
		one.Object, one.Server = at.String(), at.Server()
		all = append(all, one)
	})
	return all
}

// task is an operation in the registry of those that have not ended.
type task struct {
	request Request
	begun   bool
	at      Object    // the object that it has reached, if that is not its own
	held    []Object  // those that a change has locked
	left    time.Time // when its last caller gave up first; zero: it still waits
}

// register enters an operation in the registry and takes its lease, if there are any.
func (r *Runner) register(ctx context.Context, request Request) (entry *running.Entry[task], release func()) {
	if r.config.Lease != nil {
		release = r.config.Lease(ctx)
	}
	return r.tasks.Add(task{request: request}), release
}
