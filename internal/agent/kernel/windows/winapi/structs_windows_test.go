// SPDX-License-Identifier: Apache-2.0

package winapi_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows/winapi"
	tests "github.com/kubernetes-csi/csi-proxy/internal/testing/winapitest"
)

// TestStructs compares the structures that are passed to Windows with the layout that C compilers give them, the same
// on x64 and arm64: testdata/structs.txt, which internal/agent/win32/testdata/abi/make.sh writes. Fields correspond by their
// order; a field without a name is padding, and a C union is one field.
func TestStructs(t *testing.T) {
	text, err := os.ReadFile("testdata/structs.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for name, value := range map[string]any{
		"ISCSI_LOGIN_OPTIONS":            winapi.ISCSILoginOptions{},
		"ISCSI_UNIQUE_SESSION_ID":        winapi.ISCSIUniqueID{},
		"SERVICE_STATUS_PROCESS":         windows.SERVICE_STATUS_PROCESS{},
		"QUERY_SERVICE_CONFIGW":          windows.QUERY_SERVICE_CONFIG{},
		"ENUM_SERVICE_STATUSW":           windows.ENUM_SERVICE_STATUS{},
		"OBJECT_ATTRIBUTES":              windows.OBJECT_ATTRIBUTES{},
		"UNICODE_STRING":                 windows.NTUnicodeString{},
		"IO_STATUS_BLOCK":                windows.IO_STATUS_BLOCK{},
		"OVERLAPPED":                     windows.Overlapped{},
		"MSG":                            winapi.Message{},
		"USER_INFO_1":                    tests.UserInfo1{},
		"SHARE_INFO_502":                 tests.ShareInfo502{},
		"NETRESOURCEW":                   tests.NetResource{},
		"RESIZE_VIRTUAL_DISK_PARAMETERS": tests.ResizeParameters{},
	} {
		s := reflect.TypeOf(value)
		offsets := []string{fmt.Sprintf("size %d", s.Size())}
		for i := range s.NumField() {
			if f := s.Field(i); f.Name != "_" {
				offsets = append(offsets, fmt.Sprint(f.Offset))
			}
		}
		got[name] = offsets
	}
	want := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		name, _, member := strings.Cut(fields[1], ".")
		if !member {
			fields[2] = "size " + fields[2]
		}
		want[name] = append(want[name], fields[2])
	}
	for name, offsets := range want {
		if strings.Join(got[name], ", ") != strings.Join(offsets, ", ") {
			t.Errorf("%s: got %q, want %q", name, got[name], offsets)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d structures are looked at, and %d in the file", len(got), len(want))
	}
}
