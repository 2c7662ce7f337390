// SPDX-License-Identifier: Apache-2.0

package winfs_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
)

// Names of this machine, in all spellings that a resolver reads, and what is no directory of a file server.
func TestNamesOfFileShares(t *testing.T) {
	for why, names := range map[string]string{
		"": `fs\share fs\data$ fs\a1 fs\1$ fs\{$ fs\@$ fs\[$ fs\aa$ fs\c 10.0.0.1\share fe80--1s4.ipv6-literal.net\share ` +
			`128.0.0.1\share 1.2.3.4.5\share 127.0.0.0.1\share 127.0.0.1.example.com\share 0x\share 999.1\share 127.0.65536\share ` +
			`loopback.example.com\share 127.0.0.256\share 16777216\share 4294967296\share ipv6-literal.net\share`,
		"administrative share": `fs\C$ fs\a$ fs\Z$ fs\admin$ fs\print$ fs\FAX$`,
		"not a file share":     `fs\ipc$ fs\PIPE fs\mailslot`,
		"WebDAV":               `fs@SSL\share fs@8080\share fs\DAVWWWROOT`,
		"looks like k or s":    "fs\\bac\u212aup f\u017f\\share",
		"network provider":     `;WebDavRedirector\fs fs;1\share`,
		"is this machine": "localhost\\share LOCALHOST.localdomain\\share a.localhost\\share loopback\\share " +
			"ip6-localhost\\share IP6-Loopback\\share 127.0.0.1\\share 127.9.9.9\\share 127.1\\share 127.0.65535\\share " +
			"2130706433\\share 0x7f.1\\share 0177.0.0.1\\share 0.0.0.0\\share 0\\share --1.ipv6-literal.net\\share " +
			"--1s1.ipv6-literal.net\\share --ffff-127.0.0.1.ipv6-literal.net\\share --.ipv6-literal.net\\share " +
			"\uFF4C\uFF4F\uFF43\uFF41\uFF4C\uFF48\uFF4F\uFF53\uFF54\\share local\u00ADhost\\share " +
			"\u200Blo\u034Fcal\u2060host\uFE0F\\share \u24DB\u24DEca\U0001D425host\\share " +
			"\uFF11\uFF12\uFF17\uFF0E0\u30020\uFF611\\share localhost\u3002\\share LoopBack\uFF0E\uFF61\\share",
	} {
		for name := range strings.FieldsSeq(names) {
			server, share, _ := strings.Cut(name, `\`)
			if got := winfs.NotFileShare(server, share); (got == "") != (why == "") || !strings.Contains(got, why) {
				t.Errorf(`\\%s: got %q, want %q`, name, got, why)
			}
			never := why == "not a file share" || strings.Contains(server, "@")
			if got := winfs.NeverShare(server, share); (got != "") != never {
				t.Errorf(`\\%s: no agent has mapped it: %q`, name, got)
			}
		}
	}
	if key := (winpath.UNC{Server: "FS.Emulated", Share: "Share"}).Key(); key != share ||
		winfs.MappingKey(`\\FS.emulated\SHARE\`) != share {
		t.Errorf("the key is %q", key)
	}
}

// A link to a share leads to a directory on it, if the share is mapped: a server is never met without a mapping. The
// root of a share may deny access that its folders grant.
func TestOpenShare(t *testing.T) {
	n := newNode(t)
	n.plantLinks()
	n.check(n.AddSMBShare("localhost", "share", nil))
	for _, name := range []string{`localhost\share`, `fs.emulated\closed`} {
		n.connect(`\\` + name)
	}
	n.plant(pods+`\closed`, reparse.Symlink(`UNC\fs.emulated\closed`))
	n.put(pods+`\closed`, "dir/below/", "file")
	n.plant(pods+`\closed\evil`, reparse.Symlink(pods+`\dir`))
	open := func(want failure, name string) {
		t.Helper()
		target, err := winpath.ParseSubstituteName(`\\` + name)
		n.check(err)
		at := n.path(pods + `\share`)
		for verb, open := range map[string]func(files *winfs.FS) error{
			"OpenShare": func(files *winfs.FS) error { return files.OpenShare(target.UNC, at, winfs.Walk{}) },
			"a look":    func(files *winfs.FS) error { return files.OpenShare(target.UNC, at, winfs.Walk{Look: true}) },
			"ShareSpace": func(files *winfs.FS) error {
				size, err := files.ShareSpace(target.UNC, at)
				if total, _, ok := size.Space(); err == nil && (!ok || total != 1<<40) {
					t.Errorf("%s has %d bytes", name, total)
				}
				return err
			},
		} {
			want.want(t, verb+" "+name, n.run(open))
		}
	}
	missing := failure{errdefs.NotFound, "FILE_NOT_FOUND", pods + `\share`}
	for name, want := range map[string]failure{
		`fs.emulated\share`: {}, `FS.Emulated\SHARE\dir`: {}, `fs.emulated\share\dir\below\`: {},
		`fs.emulated\closed\dir`: {}, `fs.emulated\closed\dir\below`: {},
		`fs.emulated\share\none`: missing, `fs.emulated\share\dir\none`: missing, `fs.emulated\closed\none`: missing,
		`fs.emulated\closed\dir\none`: missing,
		`fs.emulated\share\file`:      {errdefs.FailedPrecondition, reason.NotADirectory, "file"},
		`fs.emulated\closed`:          {errdefs.PermissionDenied, "ACCESS_DENIED", `entering the share \\fs.emulated\closed`},
		`fs.emulated\share\evil`:      refused("it lies inside a mounted volume or share, where workloads write"),
		`fs.emulated\closed\evil\below`: refused(
			`evil is a link on the share \\fs.emulated\closed, where workloads write`),
		`fs.emulated\other`: refused(`it leads to the share \\fs.emulated\other, which is not mapped`),
		`none.emulated\x`:   refused("which is not mapped"),
		`localhost\share`:   refused(`it leads to \\localhost\share: localhost is this machine`),
		`fs.emulated\c$`:    refused("c$ is an administrative share"),
	} {
		open(want, name)
	}
	n.check(n.SetSMBServerRunning("fs.emulated", false))
	open(failure{errdefs.Unavailable, "BAD_NETPATH", `entering the share ` + share}, `fs.emulated\share\dir`)
	n.around = func(call kernel.Call, _ func() error) error { return fault(call, win32.ERROR_NOT_READY) }
	open(failure{errdefs.Unavailable, "NOT_READY", "listing the shares that are mapped"}, `fs.emulated\share`)
	if got := n.SMBContactsWithoutMapping(); got != 0 {
		t.Errorf("%d contacts without a mapping", got)
	}
}

// What is open says whether it lies on a share.
func TestOnShare(t *testing.T) {
	n := newNode(t)
	n.plantLinks()
	for path, want := range map[string]bool{`dir\below`: false, `volume\inner`: false, `share`: false, `share\dir`: true} {
		n.check(n.at(pods+`\`+path, winfs.Walk{}, func(_ *winfs.FS, loc *winfs.Location) error {
			l, err := loc.Open(0)
			if err == nil && (winfs.OnShare(l) != want || loc.InShare() != want) {
				t.Errorf("%s lies on a share: %t, its location: %t", path, winfs.OnShare(l), loc.InShare())
			}
			return err
		}))
	}
}

// guarded is a node on which walks stop on the share until they may go on.
type guarded struct {
	*node
	calls sync.WaitGroup
	goOn  chan struct{}
	onIt  atomic.Int32 // walks that are on the share
}

// walk looks up a path on the share, and stops there.
func (g *guarded) walk(how winfs.Walk, want failure) {
	g.calls.Go(func() {
		want.want(g.t, "a walk", g.at(pods+`\share\dir`, how, func(_ *winfs.FS, loc *winfs.Location) error {
			g.onIt.Add(1)
			defer g.onIt.Add(-1)
			<-g.goOn
			_, err := loc.Open(0)
			return err
		}))
	})
	synctest.Wait()
}

// unmap removes the mapping of a share once no walk is on it, and reports whether it has done so at once.
func (g *guarded) unmap(ctx context.Context, key string, want failure) (done bool) {
	g.calls.Go(func() {
		want.want(g.t, "unmapping "+key, g.within(ctx, operation.Everything(), func(files *winfs.FS) error {
			release, err := files.LockShare(key)
			if err != nil {
				return err
			}
			defer release()
			done = true
			return g.RemoveSMBGlobalMapping(key)
		}))
	})
	synctest.Wait()
	return done
}

// mapped reports whether the share is mapped.
func (g *guarded) mapped() bool {
	g.t.Helper()
	synctest.Wait()
	mappings, err := g.SMBGlobalMappings()
	g.check(err)
	return slices.ContainsFunc(mappings, func(m kernel.SMBGlobalMapping) bool { return winfs.MappingKey(m.RemotePath) == share })
}

// A mapping is not removed while a walk is on its share, so that no server is met without one, and no walk begins while
// the removal waits. A look, another share and a caller that gives up delay nothing.
func TestShareGuard(t *testing.T) {
	const closed = `\\fs.emulated\closed`
	for name, test := range map[string]func(g *guarded){
		"walks": func(g *guarded) {
			g.walk(winfs.Walk{}, failure{})
			g.walk(winfs.Walk{Pin: true}, failure{})
			if g.unmap(g.t.Context(), share, failure{}) || !g.unmap(g.t.Context(), closed, failure{}) {
				g.t.Error("the mapping was removed under the walks, or that of another share was not")
			}
			g.walk(winfs.Walk{}, refused("which is not mapped"))
			if on := g.onIt.Load(); on != 2 {
				g.t.Errorf("%d walks are on the share, want 2", on)
			}
			if g.goOn <- struct{}{}; !g.mapped() {
				g.t.Error("the mapping was removed under the second walk")
			}
		},
		"a look": func(g *guarded) {
			g.walk(winfs.Walk{Look: true}, failure{errdefs.Unavailable, "NETNAME_DELETED", ""})
			if !g.unmap(g.t.Context(), share, failure{}) {
				g.t.Error("a look delays the removal")
			}
		},
		"a removal that is given up": func(g *guarded) {
			ctx, cancel := context.WithCancel(g.t.Context())
			g.walk(winfs.Walk{}, failure{})
			g.unmap(ctx, share, failure{errdefs.Canceled, reason.StillRunning, ""})
			cancel()
			g.walk(winfs.Walk{}, failure{})
			if on := g.onIt.Load(); on != 2 || !g.mapped() {
				g.t.Errorf("%d walks are on the share, want 2", on)
			}
		},
		"a panic": func(g *guarded) {
			g.around = func(call kernel.Call, do func() error) error {
				if strings.HasPrefix(call.Object, `\\?\UNC`) {
					panic("injected")
				}
				return do()
			}
			g.walk(winfs.Walk{}, failure{errdefs.Internal, reason.Panic, ""})
			if !g.unmap(g.t.Context(), share, failure{}) {
				g.t.Error("a walk that has panicked keeps the share mapped")
			}
			g.handles.open.Store(0) // those of the way
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &guarded{node: newNode(t), goOn: make(chan struct{})}
				g.plantLinks()
				g.connect(closed)
				test(g)
				close(g.goOn)
				g.calls.Wait()
				if got := g.SMBContactsWithoutMapping(); got != 0 && name != "a look" {
					t.Errorf("%d contacts without a mapping", got)
				}
			})
		})
	}
}
