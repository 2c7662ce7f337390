// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/functions"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/recording"
)

func open(t *testing.T) *emulated.Node {
	t.Helper()
	node, err := emulated.Open(t.TempDir(), emulated.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = node.Close() })
	return node
}

// record returns an emulated node whose calls are recorded.
func record(t *testing.T) (kernel.Kernel, *bytes.Buffer) {
	t.Helper()
	var text bytes.Buffer
	return kernel.Intercept(t.Context(), open(t), recording.New(&text, t.Name()).Intercept), &text
}

func read(t *testing.T, text *bytes.Buffer) []recording.Call {
	t.Helper()
	calls, err := recording.Read(bytes.NewReader(text.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

func openFile(t *testing.T, k kernel.Kernel, dir kernel.Handle, name string) kernel.Handle {
	t.Helper()
	h, err := k.OpenFile(dir, name, kernel.OpenOptions{
		Access: win32.FILE_LIST_DIRECTORY | win32.FILE_READ_ATTRIBUTES | win32.DELETE, Share: 7,
		Disposition: win32.FILE_OPEN_IF, Options: win32.FILE_DIRECTORY_FILE,
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func encoded(v any) json.RawMessage {
	text, _ := json.Marshal(v)
	return text
}

func TestCallCarriesInputAndOutput(t *testing.T) {
	k, text := record(t)
	const pods = `\\?\C:\var\lib\kubelet\pods`
	parent := openFile(t, k, nil, pods)
	out := make([]byte, 64)
	if err := parent.Information(win32.FileAttributeTagInfo, out); err != nil {
		t.Fatal(err)
	}
	_, _ = k.OpenFile(parent, "missing", kernel.OpenOptions{Disposition: win32.FILE_OPEN})
	disk, err := k.OpenDevice(`\\.\PhysicalDrive0`, win32.GENERIC_READ)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = disk.DeviceIoControl(win32.IOCTL_DISK_GET_LENGTH_INFO, nil, out)
	_, _ = disk.ReadAt(make([]byte, 4096), 1<<20)
	_, _ = disk.ReadAt(make([]byte, 4096), 0)
	names, _ := k.VolumeNames()

	got := read(t, text)
	for i := range got {
		got[i].Nanoseconds = 0
	}
	boot := got[6].Out
	how := kernel.OpenOptions{Access: win32.FILE_LIST_DIRECTORY | win32.FILE_READ_ATTRIBUTES | win32.DELETE, Share: 7,
		Disposition: win32.FILE_OPEN_IF, Options: win32.FILE_DIRECTORY_FILE}
	want := []recording.Call{
		{Function: "OpenFile", Object: pods, Parameters: encoded([]any{how})},
		{Function: "Information", Object: pods, Code: win32.FileAttributeTagInfo, Parameters: encoded([]any{64}),
			Out: []byte{0x10}},
		{Function: "OpenFile", Object: pods + `\missing`, Win32: 2, Error: "ERROR_FILE_NOT_FOUND", Failed: "NtCreateFile",
			Parameters: encoded([]any{kernel.OpenOptions{Disposition: win32.FILE_OPEN}})},
		{Function: "OpenDevice", Object: `\\.\PhysicalDrive0`, Parameters: encoded([]any{uint32(win32.GENERIC_READ)})},
		{Function: "DeviceIoControl", Object: `\\.\PhysicalDrive0`, Code: win32.IOCTL_DISK_GET_LENGTH_INFO,
			CodeName: "IOCTL_DISK_GET_LENGTH_INFO", Parameters: encoded([]any{64}),
			Out: win32.LengthInformation{Length: 64 << 30}.Bytes()},
		{Function: "ReadAt", Object: `\\.\PhysicalDrive0`, Parameters: encoded([]any{4096, 1 << 20}), Count: 4096,
			Zero: got[5].Zero},
		{Function: "ReadAt", Object: `\\.\PhysicalDrive0`, Parameters: encoded([]any{4096, 0}), Count: 4096, Out: boot},
		{Function: "VolumeNames", Result: encoded(names)},
	}
	for i := range want {
		want[i].Test = t.Name()
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
	if len(boot) != 512 {
		t.Errorf("the boot sector has %d bytes", len(boot))
	}
}

// TestEveryFunctionIsRecorded calls every function with zeros: one that passes no interceptor is missing.
func TestEveryFunctionIsRecorded(t *testing.T) {
	k, text := record(t)
	h := openFile(t, k, nil, `\\?\C:\var\lib\kubelet\pods`)
	call := func(on any, of reflect.Type) {
		for i := range of.NumMethod() {
			method := of.Method(i)
			if method.Name == "Close" {
				continue
			}
			in := make([]reflect.Value, method.Type.NumIn())
			for j := range in {
				in[j] = reflect.Zero(method.Type.In(j))
			}
			reflect.ValueOf(on).MethodByName(method.Name).Call(in)
		}
	}
	call(k, reflect.TypeFor[kernel.Kernel]())
	call(h, reflect.TypeFor[kernel.Handle]())
	var got []string
	for _, c := range read(t, text) {
		got = append(got, c.Function)
	}
	slices.Sort(got)
	if diff := cmp.Diff(slices.Compact(got), slices.Sorted(slices.Values(functions.All()))); diff != "" {
		t.Errorf("-recorded +functions:\n%s", diff)
	}
}

// Neither users nor secrets are in a recording, in whatever form.
func TestSecretsAreNotRecorded(t *testing.T) {
	const secret, user = "hush-hush-hush-1", "EMULATED\\csi"
	k, text := record(t)
	_ = k.CreateSMBGlobalMapping(`\\fs.emulated\share`, user, kernel.Secret(secret), true)
	_ = k.SetISCSIInitiatorCHAPSharedSecret(kernel.Secret(secret))
	portal := win32.ISCSITargetPortal{Address: "192.0.2.10", Socket: 3260}.Bytes()
	_, _ = k.LoginISCSITarget(kernel.ISCSILogin{Target: "iqn.2026-01.emulated:chap", Portal: portal, Username: user,
		Password: kernel.Secret(secret)})
	k = kernel.Intercept(t.Context(), persistent{k, secret}, recording.New(text, t.Name()).Intercept)
	if logins, _, _ := k.ISCSIPersistentLogins(); !bytes.Contains(logins, []byte(secret)) {
		t.Fatal("the buffer of logins has no secret in it")
	}
	if !strings.Contains(text.String(), "iqn.x") {
		t.Errorf("the persistent login is not in the recording:\n%s", text)
	}
	for _, hidden := range []string{secret, "EMULATED"} {
		var wide []byte
		for _, unit := range utf16.Encode([]rune(hidden)) {
			wide = append(wide, byte(unit), byte(unit>>8))
		}
		for _, b := range [][]byte{[]byte(hidden), wide} {
			for shift := range 3 { // base64 of it within something else
				encoded := base64.StdEncoding.EncodeToString(append(make([]byte, shift), b...))[4:12]
				if strings.Contains(text.String(), encoded) || bytes.Contains(text.Bytes(), b) {
					t.Errorf("%q is in the recording:\n%s", hidden, text)
				}
			}
		}
	}
}

// persistent is a node whose list of persistent logins holds a secret, as Windows' does.
type persistent struct {
	kernel.Kernel
	secret string
}

func (p persistent) ISCSIPersistentLogins() ([]byte, int, error) {
	return append(deviceside.PersistentISCSILogin(win32.PersistentISCSILogin{TargetName: "iqn.x"}), p.secret...), 1, nil
}

type broken struct{ left int }

func (b *broken) Write(p []byte) (int, error) {
	if b.left--; b.left < 0 {
		return 0, errors.New("the disk is full")
	}
	return len(p), nil
}

func TestRecordingThatCannotBeWrittenDisturbsNoCall(t *testing.T) {
	r := recording.New(&broken{1}, "")
	k := kernel.Intercept(t.Context(), open(t), r.Intercept)
	for range 2 {
		if names, err := k.VolumeNames(); err != nil || len(names) == 0 {
			t.Errorf("got %q, %v", names, err)
		}
	}
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("the recorder reports %v", err)
	}
}

func TestReadReturnsCallsBeforeATornLine(t *testing.T) {
	const line = `{"function":"VolumeNames","nanoseconds":1}` + "\n"
	calls, err := recording.Read(strings.NewReader(line + line + `{"function":`))
	if err == nil || len(calls) != 2 {
		t.Errorf("got %+v, %v", calls, err)
	}
}
