// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func TestDescribeInput(t *testing.T) {
	for _, test := range []struct {
		code uint32
		in   []byte
		want string
	}{
		{win32.IOCTL_DISK_GET_LENGTH_INFO, nil, ""},
		{win32.IOCTL_STORAGE_QUERY_PROPERTY, win32.StoragePropertyQuery{PropertyID: 2}.Bytes(), "PropertyID:2"},
		{win32.IOCTL_STORAGE_QUERY_PROPERTY, []byte{1}, "(1 bytes)"},
		{win32.IOCTL_DISK_SET_DISK_ATTRIBUTES, win32.SetDiskAttributes{Version: 40, AttributesMask: 3}.Bytes(),
			"{Version:40 Persist:false Attributes:0 AttributesMask:3}"},
		{win32.FSCTL_EXTEND_VOLUME, []byte{0, 16, 0, 0, 0, 0, 0, 0}, "{Sectors:4096}"},
		{0x12345678, make([]byte, 7), "(7 bytes)"},
	} {
		if got := describeInput(test.code, test.in); !strings.Contains(got, test.want) || test.want == "" && got != "" {
			t.Errorf("0x%x: got %q, want %q", test.code, got, test.want)
		}
	}
}

func FuzzDescribeInput(f *testing.F) {
	f.Add(uint32(win32.IOCTL_STORAGE_QUERY_PROPERTY), make([]byte, 12))
	f.Add(uint32(win32.FSCTL_SET_REPARSE_POINT), make([]byte, 64))
	f.Fuzz(func(t *testing.T, code uint32, in []byte) {
		if got := describeInput(code, in); (got == "") != (len(in) == 0) {
			t.Errorf("%d bytes of input are %q", len(in), got)
		}
	})
}
