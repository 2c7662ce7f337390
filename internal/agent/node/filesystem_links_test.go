// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
)

// A workload may make links without end. Of a directory that lies in another working directory, each
// is reported once.
func TestLinksWithoutEnd(t *testing.T) {
	_, k, _ := treeNode(t, nil)
	n := newNode(t, k, Config{WorkingDirs: []string{KubeletDir, treePath}})
	for i := range 4 {
		must(t, reparse.Plant(k, treePath+`\`+fmt.Sprint(i), reparse.Junction(KubeletDir+`\nowhere`)))
	}
	links, err := n.Filesystem.Links(t.Context())
	if err != nil || len(links.All) != 4 || !links.Complete {
		t.Errorf("%d of 4 links, %v", len(links.All), err)
	}
	cut, err := read(t.Context(), n, operation.On("Links"), func(o *op) (*linkSearch, error) {
		s := &linkSearch{op: o, left: maxLinkEntries, room: 3 * len(treePath+KubeletDir+`\0\nowhere`)}
		return s, s.within(n.policy.Dirs()[1])
	})
	if !errdefs.HasReason(err, reason.TooManyEntries) || len(cut.found) != 3 {
		t.Errorf("without room for the fourth: %d links, %v", len(cut.found), err)
	}
}

// What cannot be opened or listed hides no other link. A socket that a crash left behind leads nowhere, and so keeps
// neither the list of staged volumes nor the logout of a target that reconnects; what might be a mount point does.
func TestBadEntriesHideNoLinks(t *testing.T) {
	const second, refused = `C:\second`, win32.ERROR_CANT_ACCESS_FILE
	for _, c := range []struct {
		function, object string // the call that fails
		code             win32.Errno
		told, complete   bool
	}{
		{"OpenFile", `\socket`, refused, false, true},
		{"OpenFile", `\socket`, win32.ERROR_SHARING_VIOLATION, false, true},
		{"OpenFile", `\closed`, refused, true, false},
		{"OpenFile", `\closed`, win32.ERROR_ACCESS_DENIED, false, false},
		{"OpenFile", `\closed`, win32.ERROR_SHARING_VIOLATION, false, false},
		{"OpenFile", `\a`, refused, true, false}, // a link
		{"OpenFile", second, refused, true, false},
		{"Information", `\closed`, win32.ERROR_FILE_CORRUPT, true, false},
		{"DeviceIoControl", `\a`, win32.ERROR_IO_DEVICE, true, false},
		{"SMBGlobalMappings", ``, win32.ERROR_IO_DEVICE, true, false},
	} {
		t.Run(fmt.Sprint(c.function, c.object, c.code), func(t *testing.T) {
			k := emulate(t, emulated.Options{})
			n := newNode(t, k, Config{WorkingDirs: []string{second, KubeletDir},
				Interceptor: func(_ context.Context, call kernel.Call, do func() error) error {
					if call.Function == c.function && strings.HasSuffix(call.Object, c.object) {
						return &kernel.Error{Function: call.Function, Object: call.Object, Code: c.code}
					}
					return do()
				}})
			for _, dir := range []string{second, KubeletDir} {
				host, err := k.HostPath(`C:\`)
				must(t, err)
				must(t, os.MkdirAll(filepath.Join(host, strings.ReplaceAll(dir[len(`C:\`):], `\`, "/"), "closed"), 0o700))
				must(t, reparse.Plant(k, dir+`\socket`, win32.ReparsePoint{Tag: hostfiles.TagSocket}))
				must(t, reparse.Plant(k, dir+`\a`, reparse.Junction(KubeletDir+`\nowhere`)))
				must(t, reparse.Plant(k, dir+`\b`, reparse.Junction(`UNC\fs.emulated\share`)))
				must(t, reparse.Plant(k, dir+`\z`, reparse.Junction(KubeletDir+`\nowhere`)))
			}
			links, err := n.Filesystem.Links(t.Context())
			if told := err != nil; told != c.told || told && !errdefs.HasCode(err, c.code) || links.Complete != c.complete {
				t.Errorf("the search ends with %v, complete: %t", err, links.Complete)
			}
			if len(links.All) == 0 || links.All[len(links.All)-1].GetPath() != KubeletDir+`\z` {
				t.Errorf("it finds %v", links.All)
			}
			_, err = read(t.Context(), n, operation.On("Disconnect"),
				func(o *op) (struct{}, error) { return struct{}{}, o.refuseMissingVolumes("iqn.2026-01.test:disk") })
			if mayBeMounted := c.told && c.function != "SMBGlobalMappings"; (err != nil) != mayBeMounted {
				t.Errorf("the logout is refused with %v", err)
			}
		})
	}
}
