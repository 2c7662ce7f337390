// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"testing"

	steps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	client "github.com/kubernetes-csi/csi-proxy/client/groups/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

func (g *target) steps() *client.Client {
	g.t.Helper()
	c, err := client.NewClientWithPipePath(g.Socket("nodesteps", "v1alpha1"))
	noError(g.t, err)
	g.t.Cleanup(func() { _ = c.Close() })
	return c
}

// A rule that allows the steps allows all calls of which they are made, and where the rule ends, each of these ends,
// too. Volumes that others staged count, although the client may not look there.
func TestPolicyOfSteps(t *testing.T) {
	g := attack(t, testnode.Options{})
	g.hostDir(own)
	g.hostDir(others + `\secret`)
	g.plantOne(own, planted{name: "symlink", point: symlink(`\??\` + others)})
	stageShare := func(remote, at string) error {
		_, err := g.steps().StageShare(t.Context(), &steps.StageShareRequest{RemotePath: remote, TargetPath: at,
			Username: "csi", Password: "csi-password"})
		return err
	}
	noError(t, stageShare(`\\fs.emulated\other`, others+`\share`))
	disk, err := g.Emulated.AttachDisk(emulated.DiskSpec{SizeBytes: 256 << 20, LUNAuto: true})
	noError(t, err)
	g = g.restricted(testnode.Options{}, `- name: own
  clients: [{any: true}]
  methods: [nodesteps]
  directories: ['`+own+`']
  smbServers: [fs.emulated]
`)
	stageDisk := func(at string) error {
		_, err := g.steps().StageDisk(t.Context(),
			&steps.StageDiskRequest{TargetPath: at, Disk: &steps.StageDiskRequest_DiskNumber{DiskNumber: disk}})
		return err
	}
	publish := func(from, at string) error {
		_, err := g.steps().Publish(t.Context(), &steps.PublishRequest{SourcePath: from, TargetPath: at})
		return err
	}
	before := g.snapshot()
	for what, call := range map[string]func() error{
		"a disk at another driver's path":  func() error { return stageDisk(others + `\volume`) },
		"a disk behind a link":             func() error { return stageDisk(own + `\symlink\volume`) },
		"a link to another driver's path":  func() error { return publish(others+`\secret`, own+`\link`) },
		"a link at another driver's path":  func() error { return publish(own, others+`\link`) },
		"a share of another server":        func() error { return stageShare(`\\elsewhere\share`, own+`\share`) },
		"a share at another driver's path": func() error { return stageShare(`\\fs.emulated\share`, others+`\new`) },
		"another driver's share": func() error {
			_, err := g.steps().Unstage(t.Context(), &steps.UnstageRequest{TargetPath: others + `\share`})
			return err
		},
		"another driver's volume": func() error {
			_, err := g.steps().GetVolume(t.Context(), &steps.GetVolumeRequest{TargetPath: others + `\share`})
			return err
		},
		"another target": func() error {
			_, err := g.steps().StageDisk(t.Context(), &steps.StageDiskRequest{
				TargetPath: own + `\volume`, Disk: &steps.StageDiskRequest_IscsiDisk{IscsiDisk: &steps.ISCSIDisk{TargetAddress: "192.0.2.10", Iqn: "iqn.2026-01.emulated:open"}},
			})
			return err
		},
		"a single call": func() error { return mapShare(t.Context(), g.Node, share, "") },
	} {
		wantPolicy(t, what, call())
		before = g.unchanged(what, before)
	}

	noError(t, stageDisk(own+`\volume`))
	noError(t, publish(own+`\volume`, own+`\published`))
	noError(t, stageShare(`\\fs.emulated\other`, own+`\share`))
	for _, at := range []string{`\share`, `\published`, `\volume`} {
		_, err := g.steps().Unstage(t.Context(), &steps.UnstageRequest{TargetPath: own + at})
		noError(t, err)
	}
	mapped, err := g.Emulated.SMBGlobalMappings()
	noError(t, err)
	for _, m := range mapped {
		if m.RemotePath == `\\fs.emulated\other` {
			return
		}
	}
	t.Errorf("the mapping of the other driver's share is gone: %v", mapped)
}
