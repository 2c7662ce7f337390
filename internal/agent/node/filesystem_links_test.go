// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
)

// Links in deep directories, each leading to the next, cost no more handles than one path. A way that is held has few
// links.
func TestHandlesOfManyLinks(t *testing.T) {
	const links, levels = 30, 80
	n, k, _ := treeNode(t, nil)
	deep := func(i int) string { return fmt.Sprintf(`%s\%d%s`, treePath, i, strings.Repeat(`\d`, levels)) }
	for i := range links + 1 {
		must(t, n.Filesystem.Mkdir(t.Context(), deep(i)))
		target := deep(i+1) + `\link`
		if i == links {
			target = KubeletDir + `\pods`
		}
		plantJunction(t, k, deep(i)+`\link`, target)
	}
	k.most.Store(0)
	if there, err := n.Filesystem.PathExists(t.Context(), deep(0)+`\link\tree`); err != nil || !there {
		t.Errorf("what the links lead to is there: %t, %v", there, err)
	}
	if most := k.most.Load(); most > 2*levels || k.open.Load() != 0 {
		t.Errorf("%d handles were open at a time, %d still are", most, k.open.Load())
	}
	if err := n.Filesystem.Mkdir(t.Context(), deep(links-5)+`\link\made`); err != nil {
		t.Errorf("behind six links: %v", err)
	}
	var e *errdefs.Error
	if err := n.Filesystem.Rmdir(t.Context(), deep(0)+`\link\made`, false); !errors.As(err, &e) ||
		e.Reason != reason.LinkRefused {
		t.Errorf("removing what is behind many links: %v", err)
	}
	if err := n.Filesystem.Rmdir(t.Context(), deep(links-5)+`\link\made`, false); err != nil {
		t.Errorf("removing what is behind six links: %v", err)
	}
	if most := k.most.Load(); most > (winfs.MaxPinnedLinks+2)*(levels+10) {
		t.Errorf("%d handles were open at a time", most)
	}
}
