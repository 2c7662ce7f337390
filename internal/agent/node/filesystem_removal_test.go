// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
)

const treePath = KubeletDir + `\pods\tree`

// treeNode is a node with an empty directory at treePath, which is host on the host.
func treeNode(t *testing.T, around kernel.Interceptor) (n *Node, k *emulated.Node, host string) {
	t.Helper()
	k = emulate(t, emulated.Options{})
	n = newNode(t, k, Config{Interceptor: around})
	must(t, by(n).Mkdir(t.Context(), treePath))
	host, err := k.HostPath(treePath)
	must(t, err)
	return n, k, host
}

// plantJunction makes a junction past the agent.
func plantJunction(t *testing.T, k kernel.Kernel, path, target string) {
	t.Helper()
	plantPoint(t, k, path, win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_MOUNT_POINT, SubstituteName: `\??\` + target})
}

func plantPoint(t *testing.T, k kernel.Kernel, path string, point win32.ReparsePoint) {
	t.Helper()
	h, err := k.OpenFile(nil, `\\?\`+path, kernel.OpenOptions{
		Access: win32.FILE_WRITE_ATTRIBUTES, Share: winfs.ShareAll, Disposition: win32.FILE_CREATE,
		Options: win32.FILE_DIRECTORY_FILE | win32.FILE_OPEN_REPARSE_POINT,
	})
	must(t, err)
	_, err = h.DeviceIoControl(win32.FSCTL_SET_REPARSE_POINT, point.Bytes(), nil)
	must(t, errors.Join(err, h.Close()))
}

// Some file servers lose their place in a listing when files are deleted, and end it too early.
func TestListingsThatEndEarly(t *testing.T) {
	early := 0
	n, _, host := treeNode(t, func(_ context.Context, call kernel.Call, do func() error) error {
		if call.Function == "Information" && call.Code == win32.FileFullDirectoryInfo && early < 2 {
			early++
			return &kernel.Error{Function: "GetFileInformationByHandleEx", Object: call.Object, Code: win32.ERROR_NO_MORE_FILES}
		}
		return do()
	})
	for i := range 3000 {
		if err := os.WriteFile(filepath.Join(host, fmt.Sprintf("%s%04d", strings.Repeat("x", 100), i)),
			nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := by(n).RmdirContents(t.Context(), treePath); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(host); err != nil || len(left) > 0 || early != 2 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}
