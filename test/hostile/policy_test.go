// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"errors"
	"testing"

	"google.golang.org/grpc/codes"

	steps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// own is the directory of the driver that the policies below restrict, and others that of another driver.
const (
	own    = kubelet + `\plugins\kubernetes.io\csi\own`
	others = kubelet + `\plugins\kubernetes.io\csi\others`
)

// restricted stops the agent of a prepared node, and starts another one with a rule for every client.
func (g *target) restricted(rule string) *target {
	g.t.Helper()
	g.OK(g.Agent.Stop(g.t.Context()))
	p, err := policy.Parse("policy.yaml", []byte("apiVersion: "+policy.APIVersion+
		"\nkind: Policy\nrules:\n- name: own\n  clients: [{any: true}]\n"+rule))
	g.OK(err)
	r := *g
	r.Node = caller.Start(g.t, testnode.Options{StateDir: g.StateDir, Policy: p})
	return &r
}

// wantPolicy checks that calls are refused by the policy, and change nothing.
func (g *target) wantPolicy(calls map[string]error) {
	g.t.Helper()
	for what, err := range calls {
		if codeOf(err) != codes.PermissionDenied || caller.Reason(err) != "POLICY" {
			g.t.Errorf("%v: got %.300v, want PermissionDenied with the reason POLICY", what, err)
		}
	}
}

// A driver that may use its own directories does not get into another's through links or mount points, nor to a server
// that it may not reach; and what it may not reach is not touched.
func TestPolicyOfDirectories(t *testing.T) {
	const shareLink = own + `\share`
	g := attack(t, testnode.Options{})
	for _, dir := range []string{own, own + `2\victim`, others + `\victim\inner`, own + `\dir\victim\inner`} {
		g.hostDir(dir)
	}
	g.OK(g.Map(share, shareLink))
	g.WriteFile(others+`\victim\inner\file`, "precious")
	g = g.restricted("  methods: ['*']\n  directories: ['" + own + "', '" + pods + "\\own']\n  smbServers: [elsewhere]\n")
	_, err := g.Client().Filesystem.Mkdir(t.Context(), &csiproxy.MkdirRequest{Path: others + `\new`})
	if !errors.Is(err, csiproxy.ErrDenied) {
		t.Errorf("another driver's directory: %v, want ErrDenied", err)
	}
	refused := map[string]string{"": others + `\victim`, "share": shareLink + `\new`} // by what the path leads through
	for name, to := range map[string]string{
		"symlink": others, "above": kubelet + `\plugins`, "lookalike": own + `2`, "pods": pods + `\peer`,
		"twice": own + `\symlink`, "inside": own + `\dir`,
	} {
		g.plant(own+`\`+name, reparse.Symlink(to))
		refused[name] = own + `\` + name + `\victim`
	}
	g.plant(own+`\junction`, reparse.Junction(others))
	refused["junction"] = own + `\junction\victim`
	delete(refused, "inside")
	before := g.snapshot()
	number := 0
	for link, path := range refused {
		for _, c := range g.pathCalls(own + `\fine`) {
			if number++; testnode.Sampled(t, number, 0, 3) && !(link != "" && c.name == "IsSymlink") { // which follows none
				g.wantPolicy(map[string]error{c.name + " of " + path: c.do(path)})
			}
		}
		before = g.unchanged(path, before)
	}
	for what, call := range map[string]error{"a new mapping": g.Map(share, ""), "removing it": g.RemoveSmbGlobalMapping(share)} {
		g.wantPolicy(map[string]error{what: call})
	}
	g.unchanged("mapping", before)
	for _, path := range []string{own + `\dir\victim`, own + `\inside\victim`} { // allowed calls keep working
		if !g.Exists(path) {
			t.Errorf("%s does not exist", path)
		}
	}
	g.OK(g.Rmdir(own+`\symlink`, true)) // the link itself
	if !g.Exists(own+`\dir\victim`) || g.ReadFile(others+`\victim\inner\file`) != "precious" {
		t.Error("removing a link removes what it leads to")
	}
}

// A rule that allows the steps allows all calls of which they are made, and where the rule ends, each of these ends,
// too. Volumes that others staged count, although the client may not look there.
func TestPolicyOfSteps(t *testing.T) {
	g := attack(t, testnode.Options{})
	g.hostDir(own)
	g.hostDir(others + `\secret`)
	g.plant(own+`\symlink`, reparse.Symlink(others))
	g.OK(g.StageShare(caller.OtherShare, others+`\share`))
	disk := g.Attach(bundle.Spec{})
	g.plant(own+`\elsewhere`, reparse.Symlink(`UNC\elsewhere\share`))
	g = g.restricted("  methods: [nodesteps]\n  directories: ['" + own + "']\n  smbServers: [fs.emulated]\n")
	before := g.snapshot()
	stage := func(r *steps.StageDiskRequest) error { return only(g.Steps().StageDisk(t.Context(), r)) }
	g.wantPolicy(map[string]error{
		"a disk at another driver's path":  g.StageDisk(disk, others+`\volume`),
		"a disk behind a link":             g.StageDisk(disk, own+`\symlink\volume`),
		"a link to another driver's path":  g.Publish(others+`\secret`, own+`\link`),
		"a link at another driver's path":  g.Publish(own, others+`\link`),
		"a share of another server":        g.StageShare(`\\elsewhere\share`, own+`\share`),
		"a share at another driver's path": g.StageShare(share, others+`\new`),
		"another driver's share":           g.Unstage(others + `\share`),
		"another driver's volume": only(g.Steps().GetVolume(t.Context(),
			&steps.GetVolumeRequest{TargetPath: others + `\share`})),
		"what is behind a link to another server": only(g.Steps().GetVolume(t.Context(),
			&steps.GetVolumeRequest{TargetPath: own + `\elsewhere`})),
		"another target": stage(&steps.StageDiskRequest{TargetPath: own + `\volume`, Disk: &steps.StageDiskRequest_IscsiDisk{
			IscsiDisk: &steps.ISCSIDisk{TargetAddress: "192.0.2.10", Iqn: "iqn.2026-01.emulated:open"}}}),
		"a single call": g.Map(share, ""),
	})
	g.unchanged("refused steps", before)
	g.OK(g.StageDisk(disk, own+`\volume`))
	g.OK(g.Publish(own+`\volume`, own+`\published`))
	g.OK(g.StageShare(caller.OtherShare, own+`\share`))
	for _, at := range []string{`\share`, `\published`, `\volume`} {
		g.OK(g.Unstage(own + at))
	}
	g.Mapped(caller.OtherShare) // of the other driver
}
