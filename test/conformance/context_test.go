// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// TestPathContext asserts for every version that has path contexts that they mean nothing: neither PLUGIN (0) nor POD
// (1), which drivers send for paths of the other kind, nor a number that was never assigned. The one that matters is
// Rmdir, whose context has the field number that is force in later versions.
func TestPathContext(t *testing.T) {
	n := emulatedSite(t)
	all := listed(t, n)
	tested := 0
	for _, at := range all {
		if at.group != "filesystem" {
			continue
		}
		d := newDriver(t, n, all, at)
		if !d.has("Rmdir", context) {
			continue
		}
		tested++
		for _, c := range []uint32{0, 1, 2, 1<<31 - 1} {
			t.Run(fmt.Sprintf("%s context %d", at.version, c), func(t *testing.T) { d.with(t).contextIgnored(c) })
		}
	}
	if tested == 0 {
		t.Error("no version has path contexts")
	}
}

func (d *driver) contextIgnored(c uint32) {
	for _, parent := range []string{pods, kubelet + `\plugins`} {
		at := fmt.Sprintf(`%s\context-%d`, parent, c)
		caller.OK(d.t, d.do("Mkdir", values{path: at, context: c}))
		d.write(at+`\file`, "stays")
		same(d.t, ask[bool](d, "PathExists", values{path: at, context: c}, exists), true)

		wantCode(d.t, "Rmdir without force of a directory with content",
			d.do("Rmdir", values{path: at, context: c, force: false}), codes.FailedPrecondition)
		wantCode(d.t, "Rmdir that does not speak of force", d.do("Rmdir", values{path: at, context: c}),
			codes.FailedPrecondition)
		same(d.t, d.read(at+`\file`), "stays")

		caller.OK(d.t, d.do("Rmdir", values{path: at, context: c, force: true}))
		same(d.t, ask[bool](d, "PathExists", values{path: at, context: c}, exists), false)
		caller.OK(d.t, d.do("Rmdir", values{path: at, context: c, force: true}))
		wantCode(d.t, "Rmdir without force of nothing", d.do("Rmdir", values{path: at, context: c}), codes.NotFound)
	}
	wantCode(d.t, "a path outside", d.do("Mkdir", values{path: `C:\Windows\x`, context: c}), codes.InvalidArgument)
}
