// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// A driver calls operations by their hub's names. Each goes to the first of its APIs that has it.
type driver struct {
	t     testing.TB
	site  site
	node  *caller.Node // nil where the site is not an emulated node
	admin *adminclient.Client
	apis  []*api
	made  *int // how many things were prepared, to name them apart

	oversized []byte // a request without its length prefix
}

// newDriver makes a driver with the wanted versions, and with the hubs for what those lack.
func newDriver(t testing.TB, n site, all []served, wanted ...served) *driver {
	t.Helper()
	d := &driver{t: t, site: n, made: new(int),
		oversized: protowire.AppendBytes(protowire.AppendTag(nil, 99, protowire.BytesType), make([]byte, 4<<20))}
	d.admin = n.admin(t)
	if e := n.emulated(); e != nil {
		d.node = caller.On(t, e)
	}
	for _, s := range []served{{"disk", "v1"}, {"filesystem", "v2alpha1"}, {"volume", "v2alpha1"}, {"smb", "v1"},
		{"iscsi", "v1alpha2"}, {"system", "v1alpha1"}} {
		if slices.Contains(all, s) && !slices.Contains(wanted, s) {
			wanted = append(wanted, s)
		}
	}
	for _, s := range wanted {
		d.apis = append(d.apis, open(t, n, s.group, s.version))
	}
	return d
}

// with returns the driver for one part of the test.
func (d *driver) with(t testing.TB) *driver {
	part := *d
	part.t = t
	if d.node != nil {
		part.node = caller.On(t, d.node.Node)
	}
	return &part
}

// lookUp returns the method that an operation calls, nil when no version has it.
func (d *driver) lookUp(operation string) *method {
	for _, a := range d.apis {
		if m := a.methodOf(operation); m != nil {
			return m
		}
	}
	return nil
}

// find returns the method that an operation calls.
func (d *driver) find(operation string) *method {
	d.t.Helper()
	m := d.lookUp(operation)
	if m == nil {
		d.t.Fatalf("no version has the operation %s", operation)
	}
	return m
}

// has reports whether an operation's request has a field of that meaning.
func (d *driver) has(operation string, what meaning) bool {
	d.t.Helper()
	return d.find(operation).field(what) != nil
}

// call calls an operation and checks what holds for every answer.
func (d *driver) call(operation string, v values) (reply, error) {
	d.t.Helper()
	m := d.find(operation)
	message, err := m.invoke(d.t.Context(), m.fill(d.t, v))
	d.checkError(m, err)
	if err != nil {
		return reply{}, err
	}
	return d.reply(m, message), nil
}

// must calls an operation that succeeds.
func (d *driver) must(operation string, v values) reply {
	d.t.Helper()
	r, err := d.call(operation, v)
	caller.OK(d.t, err)
	return r
}

// fails calls an operation that fails with a code.
func (d *driver) fails(what string, want codes.Code, operation string, v values) {
	d.t.Helper()
	wantCode(d.t, what, d.do(operation, v), want)
}

// do calls an operation whose reply holds nothing.
func (d *driver) do(operation string, v values) error {
	d.t.Helper()
	_, err := d.call(operation, v)
	return err
}

// checkError asserts that a failure is a status that machines can read.
func (d *driver) checkError(m *method, err error) {
	d.t.Helper()
	if err == nil {
		return
	}
	s, ok := status.FromError(err)
	if !ok || s.Code() == codes.Unknown {
		d.t.Errorf("%v failed without a status: %v", m, err)
	}
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == "csi-proxy" && info.GetReason() != "" {
			return
		}
	}
	d.t.Errorf("%v failed without a reason: %v", m, err)
}

// A reply is a response whose fields are found by their meaning.
type reply struct {
	t       testing.TB
	method  *method
	message protoreflect.Message
}

// reply wraps a response, which must not report an error.
func (d *driver) reply(m *method, message proto.Message) reply {
	d.t.Helper()
	r := reply{d.t, m, message.ProtoReflect()}
	if fieldOf(r.message.Descriptor(), inBand) != nil && r.get(inBand).String() != "" {
		d.t.Errorf("%v succeeded with the error %q in its response", m, r.get(inBand).String())
	}
	return r
}

func (r reply) get(what meaning) protoreflect.Value {
	r.t.Helper()
	f := fieldOf(r.message.Descriptor(), what)
	if f == nil {
		r.t.Fatalf("%v does not answer the %s", r.method, what)
	}
	return r.message.Get(f)
}

// diskNumber returns the number of a disk, which must be in its plain decimal form where it is a string.
func diskNumber(t testing.TB, text string) uint32 {
	t.Helper()
	var number uint32
	if _, err := fmt.Sscan(text, &number); err != nil || fmt.Sprint(number) != text {
		t.Errorf("%q is not a disk number", text)
	}
	return number
}
