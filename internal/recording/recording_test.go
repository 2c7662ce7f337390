// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/recording"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// record returns an emulated node whose calls are recorded, and a function that returns them.
func record(t *testing.T) (kernel.Kernel, *bytes.Buffer) {
	t.Helper()
	node, err := emulated.Open(t.TempDir(), emulated.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = node.Close() })
	var text bytes.Buffer
	return recording.Record(node, recording.NewWriter(&text, recording.OfEmulated(t.Name()))), &text
}

func read(t *testing.T, text *bytes.Buffer) []recording.Call {
	t.Helper()
	all, err := recording.Read(bytes.NewReader(text.Bytes()))
	if err != nil || len(all) != 1 {
		t.Fatalf("%d recordings, %v", len(all), err)
	}
	return all[0].Calls
}

func openFile(t *testing.T, k kernel.Kernel, dir kernel.Handle, name string) kernel.Handle {
	t.Helper()
	h, err := k.OpenFile(dir, name, kernel.OpenHow{
		Access: win32.FILE_LIST_DIRECTORY | win32.FILE_READ_ATTRIBUTES | win32.DELETE, Share: 7,
		Disposition: win32.FILE_OPEN_IF, Options: win32.FILE_DIRECTORY_FILE,
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A call has what went in and what came out.
func TestCalls(t *testing.T) {
	k, text := record(t)
	parent := openFile(t, k, nil, `\\?\C:\var\lib\kubelet\pods`)
	child := openFile(t, k, parent, "child")
	out := make([]byte, 64)
	if err := child.Information(win32.FileAttributeTagInfo, out); err != nil {
		t.Fatal(err)
	}
	_ = child.Close()
	_, _ = k.OpenFile(parent, "missing", kernel.OpenHow{Disposition: win32.FILE_OPEN})
	disk, err := k.OpenDevice(`\\.\PhysicalDrive0`, win32.GENERIC_READ)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = disk.DeviceIoControl(win32.IOCTL_DISK_GET_LENGTH_INFO, nil, out)
	_, _ = disk.ReadAt(make([]byte, 4096), 1<<20)
	_, _ = disk.ReadAt(make([]byte, 4096), 0)
	_, _ = k.VolumeNames()

	got := read(t, text)
	for i := range got {
		got[i].Nanosecs = 0
	}
	names, _ := k.VolumeNames()
	encoded, _ := json.Marshal(names)
	how := &kernel.OpenHow{Access: win32.FILE_LIST_DIRECTORY | win32.FILE_READ_ATTRIBUTES | win32.DELETE, Share: 7,
		Disposition: win32.FILE_OPEN_IF, Options: win32.FILE_DIRECTORY_FILE}
	const pods = `\\?\C:\var\lib\kubelet\pods`
	want := []recording.Call{
		{Sequence: 1, Function: "OpenFile", Object: pods, How: how},
		{Sequence: 2, Function: "OpenFile", Object: pods + `\child`, Argument: "child", Directory: 1, How: how},
		{Sequence: 3, Function: "Information", Handle: 2, Object: pods + `\child`, Code: win32.FileAttributeTagInfo,
			Room: 64, Out: []byte{0x10}},
		{Sequence: 4, Function: "Close", Handle: 2, Object: pods + `\child`},
		{
			Sequence: 5, Function: "OpenFile", Object: pods + `\missing`, Argument: "missing", Directory: 1,
			How: &kernel.OpenHow{Disposition: win32.FILE_OPEN}, Win32: 2, Error: "ERROR_FILE_NOT_FOUND", Failed: "NtCreateFile",
		},
		{Sequence: 6, Function: "OpenDevice", Object: `\\.\PhysicalDrive0`, Numbers: []int64{win32.GENERIC_READ}},
		{
			Sequence: 7, Function: "DeviceIoControl", Handle: 6, Object: `\\.\PhysicalDrive0`, Device: true,
			Code: win32.IOCTL_DISK_GET_LENGTH_INFO, CodeName: "IOCTL_DISK_GET_LENGTH_INFO", Room: 64, Count: 8,
			Out: win32.LengthInformation{Length: 64 << 30}.Bytes(),
		},
		{Sequence: 8, Function: "ReadAt", Handle: 6, Object: `\\.\PhysicalDrive0`, Device: true, Room: 4096,
			Numbers: []int64{1 << 20}, Count: 4096, Hash: got[7].Hash, Zero: got[7].Zero},
		{Sequence: 9, Function: "ReadAt", Handle: 6, Object: `\\.\PhysicalDrive0`, Device: true, Room: 4096,
			Numbers: []int64{0}, Count: 4096, Hash: got[8].Hash, Out: got[8].Out},
		{Sequence: 10, Function: "VolumeNames", Result: encoded},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
	if len(got[8].Out) != 512 || len(got[7].Hash) != 64 || got[7].Hash == got[8].Hash {
		t.Errorf("a boot sector of %d bytes, the hashes %s and %s", len(got[8].Out), got[7].Hash, got[8].Hash)
	}
}

// TestEveryFunction calls every function with zeros: a function that is not recorded, or is by another's name, is
// missing.
func TestEveryFunction(t *testing.T) {
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
	_ = h.Close()
	var got []string
	for _, c := range read(t, text) {
		got = append(got, c.Function)
	}
	slices.Sort(got)
	want := slices.Sorted(slices.Values(append(kernel.Functions(), "Close")))
	if diff := cmp.Diff(slices.Compact(got), want); diff != "" {
		t.Errorf("-recorded +functions:\n%s", diff)
	}
}

// Neither users nor secrets are in a recording, in whatever form.
func TestSecrets(t *testing.T) {
	const secret, user = "hush-hush-hush-1", "EMULATED\\csi"
	k, text := record(t)
	_ = k.CreateSMBGlobalMapping(`\\fs.emulated\share`, user, kernel.Secret(secret), true)
	_ = k.SetISCSIInitiatorCHAPSharedSecret(kernel.Secret(secret))
	portal := win32.ISCSITargetPortal{Address: "192.0.2.10", Socket: 3260}.Bytes()
	_, _ = k.LoginISCSITarget(kernel.ISCSILogin{Target: "iqn.2026-01.emulated:chap", Portal: portal, Username: user,
		Password: kernel.Secret(secret)})
	k = recording.Record(persistent{k, secret}, recording.NewWriter(text, recording.OfEmulated("")))
	if logins, _, _ := k.ISCSIPersistentLogins(); !bytes.Contains(logins, []byte(secret)) {
		t.Fatal("the buffer of logins has no secret in it")
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
	return append(win32.PersistentISCSILogin{TargetName: "iqn.x"}.Bytes(), p.secret...), 1, nil
}

type broken struct{ left int }

func (b *broken) Write(p []byte) (int, error) {
	if b.left--; b.left < 0 {
		return 0, errors.New("the disk is full")
	}
	return len(p), nil
}

// A recording that cannot be written disturbs no call and says so at its end.
func TestFailingWriter(t *testing.T) {
	node, err := emulated.Open(t.TempDir(), emulated.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = node.Close() }()
	w := recording.NewWriter(&broken{1}, recording.OfEmulated(""))
	if names, err := recording.Record(node, w).VolumeNames(); err != nil || len(names) == 0 {
		t.Errorf("got %q, %v", names, err)
	}
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("the end reports %v", err)
	}
}

const header = `{"recording":1,"host":"Wine","wineVersion":"10.0","architecture":"amd64","date":"2026-11-22"}` + "\n"

func TestRead(t *testing.T) {
	const opened = `{"sequence":1,"function":"OpenDevice","object":"x","nanoseconds":1}` + "\n"
	for name, test := range map[string]struct{ text, problem string }{
		"empty":           {"", ""},
		"two recordings":  {header + opened + header + opened, ""},
		"torn":            {header + opened + `{"sequence":2`, "line 3: the last line is not whole"},
		"torn header":     {`{"recording":1`, "line 1: the last line is not whole"},
		"no header":       {opened, "without a header"},
		"another form":    {strings.Replace(header, "1", "2", 1), "has the form 2"},
		"no such host":    {strings.Replace(header, "Wine", "Mac", 1), `the host is "Mac"`},
		"Wine as Windows": {strings.Replace(header, "Wine", "Windows", 1), `Wine's version "10.0"`},
		"no date":         {strings.Replace(header, "2026-11-22", "today", 1), "parsing time"},
		"unknown field": {header + `{"sequence":1,"function":"VolumeNames","password":"x","nanoseconds":1}` + "\n",
			`unknown field "password"`},
		"unknown function": {header + `{"sequence":1,"function":"Format","nanoseconds":1}` + "\n", `no function "Format"`},
		"twice":            {header + opened + opened, "there twice"},
		"no sequence":      {header + `{"function":"VolumeNames","nanoseconds":1}` + "\n", "is 0"},
		"unknown handle": {header + opened + `{"sequence":2,"function":"Flush","handle":3,"nanoseconds":1}` + "\n",
			"handle 3 was not opened"},
		"no handle": {header + `{"sequence":2,"function":"Flush","nanoseconds":1}` + "\n", "on handle 0"},
		"a name of a code": {header + opened +
			`{"sequence":2,"function":"DeviceIoControl","handle":1,"code":1,"codeName":"x","nanoseconds":1}` + "\n",
			"is called"},
		"how of nothing": {header + `{"sequence":1,"function":"OpenFile","object":"x","nanoseconds":1}` + "\n",
			"parameters of OpenFile"},
		"negative": {header + `{"sequence":1,"function":"VolumeNames","nanoseconds":-1}` + "\n", "negative"},
		"two values": {header + `{"sequence":1,"function":"VolumeNames","nanoseconds":1}{}` + "\n",
			"more than one value"},
		"an endless line": {header + strings.Repeat("x", 5<<20), "more than 4194304 bytes"},
		"an enormous buffer": {header + `{"sequence":1,"function":"VolumeNames","nanoseconds":1,"in":"` +
			strings.Repeat("AAAA", 350000) + `"}` + "\n", "more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := recording.Read(strings.NewReader(test.text))
			if test.problem == "" && err != nil || test.problem != "" &&
				(err == nil || !strings.Contains(err.Error(), test.problem)) {
				t.Errorf("got %v, want %q", err, test.problem)
			}
			if torn := strings.HasPrefix(name, "torn"); errors.Is(err, recording.ErrTorn) != torn {
				t.Errorf("got %v", err)
			}
		})
	}
	all, err := recording.Read(strings.NewReader(header + opened + "{"))
	if !errors.Is(err, recording.ErrTorn) || len(all) != 1 || len(all[0].Calls) != 1 {
		t.Errorf("before a torn line: %+v, %v", all, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(header + `{"sequence":1,"function":"OpenDevice","object":"x","numbers":[1],"nanoseconds":1}` + "\n" +
		`{"sequence":2,"function":"ReadAt","handle":1,"device":true,"room":512,"count":512,"zero":true,"nanoseconds":7}` +
		"\n"))
	f.Add([]byte(header + `{"sequence":1,"function":"OpenFile","object":"x","how":{"Access":1},"win32":2,"error":"ERROR_FILE_NOT_FOUND","nanoseconds":1}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := recording.Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		var again bytes.Buffer
		for _, r := range all {
			for _, v := range append([]any{r.Header}, anyOf(r.Calls)...) {
				line, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				again.Write(append(line, '\n'))
			}
		}
		second, err := recording.Read(&again)
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if len(second) != len(all) {
			t.Errorf("%d recordings become %d", len(all), len(second))
		}
	})
}

func anyOf(calls []recording.Call) (all []any) {
	for _, c := range calls {
		all = append(all, c)
	}
	return all
}
