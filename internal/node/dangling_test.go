// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// A workload may make links that lead nowhere without end. Of a directory that lies in another working directory, each is
// reported once.
func TestDanglingWithoutEnd(t *testing.T) {
	n, k, _ := treeNode(t, nil)
	n, err := New(k, Config{WorkingDirs: []string{KubeletDir, treePath}})
	if err != nil {
		t.Fatal(err)
	}
	plant := func(name string) {
		t.Helper()
		h, err := k.OpenFile(nil, `\\?\`+treePath+`\`+name, kernel.OpenHow{
			Access: win32.FILE_WRITE_ATTRIBUTES, Share: shareAll, Disposition: win32.FILE_CREATE,
			Options: win32.FILE_DIRECTORY_FILE | win32.FILE_OPEN_REPARSE_POINT,
		})
		if err != nil {
			t.Fatal(err)
		}
		point := win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_MOUNT_POINT, SubstituteName: `\??\` + KubeletDir + `\nowhere`}
		_, err = h.DeviceIoControl(win32.FSCTL_SET_REPARSE_POINT, point.Bytes(), nil)
		if err := errors.Join(err, h.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		plant(fmt.Sprint(i))
	}
	found, err := n.Filesystem.Dangling(t.Context())
	if err != nil || len(found) != 3 {
		t.Errorf("%d of 3 links, %v", len(found), err)
	}
	for i := range danglingFound {
		plant(fmt.Sprint("more", i))
	}
	var e *Error
	found, err = n.Filesystem.Dangling(t.Context())
	if !errors.As(err, &e) || e.Reason != reason.TooManyEntries || len(found) != danglingFound {
		t.Errorf("%d links, %v", len(found), err)
	}
}
