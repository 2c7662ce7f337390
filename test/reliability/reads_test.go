// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	released "github.com/kubernetes-csi/csi-proxy/client/api"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/admin"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/journal"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
	"github.com/kubernetes-csi/csi-proxy/test/examples"
)

// TestReadsChangeNothing calls each method of each version that reads, and what the admin endpoint asks, about all that
// a node has, a volume that is offline included. No kernel call changes anything.
func TestReadsChangeNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	examples.Formatted(w.Node)
	offline := w.Volumes(examples.TheDisk)[0]
	for _, one := range scenario.Default().Switches.List() {
		if slices.Contains(one.Answers, "true") {
			w.OK(w.Emulated.SetSwitch(one.Name, "true"))
		}
	}
	w.restart(true)
	w.OK(w.CreateSymlink(bystanderPath, examples.Plugins+`\link`))
	w.OK(w.StageShare(caller.Share, examples.Plugins+`\share`))
	w.OK(w.AddTargetPortal(caller.Array))
	_, err := w.DiscoverTargetPortal(caller.Array)
	w.OK(err)
	w.OK(w.ConnectTarget(caller.OpenTarget))
	mounted, err := w.GetVolumeIDFromTargetPath(bystanderPath)
	w.OK(err)

	paths := []any{bystanderPath, examples.Plugins + `\link`, examples.Plugins + `\share`, bystanderPath + `\data`,
		examples.Plugins + `\none`}
	values := map[string][]any{
		"disknumber": {uint32(0), uint32(examples.TheDisk), uint32(examples.OfflineDisk), uint32(bystander), uint32(4)},
		"diskid":     {"0", "1", "2", "3", "4"},
		"volumeid":   {offline, mounted},
		"path":       paths,
		"mount":      paths, // in GetVolumeIDFromMount
		"name":       {"msiscsi", "lanmanworkstation"},
		"address":    {caller.Array},
		"iqn":        {caller.OpenTarget},
	}
	connection := w.node.Agent.Local()
	for _, path := range faults.Methods() {
		if m, _ := node.MethodAt(path); !m.Reads {
			continue
		}
		ask := requests(t, path)
		asked := 0
		for i, count := 0, 1; i < count; i++ {
			w.node.Faults.Calls()
			var request, response proto.Message
			request, response, count = ask(values, i)
			_ = connection.Invoke(t.Context(), path, request, response) // what an offline disk refuses has been asked for
			calls := w.node.Faults.Calls()
			asked += len(calls)
			changesNothing(t, path, calls)
		}
		if asked == 0 {
			t.Errorf("%s makes no kernel call", path)
		}
	}
	agent, err := w.node.Agent.Node()
	w.OK(err)
	w.node.Faults.Calls()
	var parts []api.Part
	for part := range api.Part_name {
		parts = append(parts, api.Part(part))
	}
	admin.FactsOf(t.Context(), agent.For(operation.Everything()), parts...)
	changesNothing(t, "the admin endpoint", w.node.Faults.Calls())
}

// requests returns a function that makes the i-th request of a method, of values by the end of a field's name, and says
// how many there are.
func requests(t *testing.T, path string) func(values map[string][]any, i int) (request, response proto.Message,
	count int) {
	t.Helper()
	files, err := released.Descriptors()
	caller.OK(t, err)
	found, err := files.FindDescriptorByName(protoreflect.FullName(strings.Replace(path[1:], "/", ".", 1)))
	caller.OK(t, err)
	method := found.(protoreflect.MethodDescriptor)
	return func(values map[string][]any, i int) (request, response proto.Message, count int) {
		m := dynamicpb.NewMessage(method.Input())
		count = fill(m, values, i)
		return m, dynamicpb.NewMessage(method.Output()), count
	}
}

func fill(m protoreflect.Message, values map[string][]any, i int) (count int) {
	count = 1
	fields := m.Descriptor().Fields()
	for at := range fields.Len() {
		field := fields.Get(at)
		if field.Message() != nil {
			count = max(count, fill(m.Mutable(field).Message(), values, i))
			continue
		}
		name := strings.ToLower(strings.ReplaceAll(string(field.Name()), "_", ""))
		for end, some := range values {
			value := protoreflect.ValueOf(some[i%len(some)])
			if _, text := value.Interface().(string); strings.HasSuffix(name, end) &&
				text == (field.Kind() == protoreflect.StringKind) {
				m.Set(field, value)
				count = max(count, len(some))
			}
		}
	}
	return count
}

// changesNothing asserts that kernel calls change nothing, and open nothing to change it.
func changesNothing(t *testing.T, of string, calls []kernel.Call) {
	t.Helper()
	const writing = win32.GENERIC_WRITE | win32.FILE_WRITE_DATA | win32.DELETE | win32.WRITE_DAC
	for _, call := range calls {
		changes := journal.Changes(call)
		switch call.Function {
		case "OpenDevice":
			// A disk is opened so to ask for its size.
			changes = call.Parameters[0].(uint32)&writing != 0 && !strings.HasPrefix(call.Object, `\\.\PhysicalDrive`)
		case "OpenFile":
			changes = changes || call.Parameters[0].(kernel.OpenOptions).Access&writing != 0
		}
		if changes {
			t.Errorf("%s: %s %s %s %v", of, call.Function, win32.ControlCodeName(call.Code), call.Object, call.Parameters)
		}
	}
}
