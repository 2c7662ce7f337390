// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// thing is something that callers contend for: a path or a disk.
type thing struct {
	kind  string
	name  string
	model porcupine.Model
	calls []input
	call  func(to *caller.Calls, in input) (result string, err error)

	mu      sync.Mutex
	history []porcupine.Operation
}

// contenders is how many call about one thing at once, and callsEach how many calls each makes before a new thing:
// the longer a history, the more orders there are to try.
const (
	contenders = 4
	callsEach  = 10
)

// contend lets contenders call about a thing.
func (th *thing) contend(t *testing.T, p *loadNode, begin time.Time) {
	t.Helper()
	var all sync.WaitGroup
	for id := range contenders {
		all.Go(func() {
			c := p.client(t)
			for range callsEach {
				th.observe(c.Calls, id, begin)
			}
			c.close()
		})
	}
	all.Wait()
}

// observe makes one call and records it.
func (th *thing) observe(to *caller.Calls, id int, begin time.Time) {
	in := th.calls[rand.IntN(len(th.calls))]
	called := time.Since(begin)
	limited, cancel := context.WithTimeout(to.Context(), 20*time.Second)
	result, err := th.call(to.Within(limited), in)
	cancel()
	returned := time.Since(begin).Nanoseconds()
	switch status.Code(err) {
	case codes.OK:
	case codes.FailedPrecondition, codes.AlreadyExists:
		result = refused
	case codes.NotFound:
		result = "absent"
	default:
		result, returned = unclear, math.MaxInt64 // it may still take effect
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	th.history = append(th.history, porcupine.Operation{ClientId: id, Input: in, Call: called.Nanoseconds(),
		Output: output{result}, Return: returned})
}

// check looks for an order of the calls that explains the answers.
func (th *thing) check() error {
	switch porcupine.CheckOperationsTimeout(th.model, th.history, time.Minute) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("%s %s: no order of its %d calls was found in time", th.kind, th.name, len(th.history))
	}
	text := ""
	for _, o := range th.history {
		text += fmt.Sprintf("\n  %d: %v -> %v [%d, %d]", o.ClientId, o.Input, o.Output, o.Call, o.Return)
	}
	return fmt.Errorf("no order of the calls about %s %s explains the answers:%s", th.kind, th.name, text)
}

// arena holds what contenders need besides new paths: two volumes and a disk.
type arena struct {
	volumes [2]string
	disk    uint32
}

// contended is the directory of the paths.
const contended = `C:\var\lib\kubelet\plugins\contended`

// kinds is the number of kinds of things.
const kinds = 4

// newThing makes the nth thing.
func (a arena) newThing(number int) *thing {
	base := fmt.Sprintf(`%s\%d`, contended, number)
	switch number % kinds {
	case 0:
		return &thing{
			kind: "directory", name: base, model: model("absent", directory),
			calls: []input{{verb: "Mkdir"}, {verb: "Rmdir"}, {verb: "PathExists"}},
			call:  pathCall(base),
		}
	case 1:
		return &thing{
			kind: "link", name: base, model: model("absent", linkModel, "stub"),
			calls: []input{{"CreateSymlink", `C:\var\lib\kubelet\plugins\a`}, {"CreateSymlink", `C:\var\lib\kubelet\plugins\b`},
				{verb: "Rmdir"}, {verb: "PathExists"}},
			call: pathCall(base),
		}
	case 2:
		return &thing{
			kind: "mount point", name: base, model: model("absent", mountPoint),
			calls: []input{
				{"MountVolume", a.volumes[0]}, {"MountVolume", a.volumes[1]}, {"UnmountVolume", a.volumes[0]},
				{"UnmountVolume", a.volumes[1]}, {verb: "GetVolumeIDFromTargetPath"}, {verb: "GetVolumeIDFromTargetPath"},
			},
			call: volumeCall(base),
		}
	default:
		return &thing{
			kind: "disk", name: fmt.Sprint(a.disk), model: model("online", diskState),
			calls: []input{{"SetDiskState", "online"}, {"SetDiskState", "offline"}, {verb: "GetDiskState"}},
			call:  diskCall(a.disk),
		}
	}
}

func pathCall(path string) func(*caller.Calls, input) (string, error) {
	return func(to *caller.Calls, in input) (string, error) {
		switch in.verb {
		case "Mkdir":
			return ok, to.Mkdir(path)
		case "Rmdir":
			return ok, to.Rmdir(path, true)
		case "CreateSymlink":
			return ok, to.CreateSymlink(in.what, path)
		}
		exists, err := to.PathExists(path)
		return map[bool]string{true: "there", false: "absent"}[exists], err
	}
}

func volumeCall(path string) func(*caller.Calls, input) (string, error) {
	return func(to *caller.Calls, in input) (string, error) {
		switch in.verb {
		case "MountVolume":
			return ok, to.MountVolume(in.what, path)
		case "UnmountVolume":
			return ok, to.UnmountVolume(in.what, path)
		}
		return to.GetVolumeIDFromTargetPath(path)
	}
}

func diskCall(number uint32) func(*caller.Calls, input) (string, error) {
	return func(to *caller.Calls, in input) (string, error) {
		if in.verb == "SetDiskState" {
			return ok, to.SetDiskState(number, in.what == "online")
		}
		online, err := to.GetDiskState(number)
		return map[bool]string{true: "online", false: "offline"}[online], err
	}
}
