// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	steps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// stepSecret is the password in the calls of TestHostileSteps.
const stepSecret = "correct-horse-battery"

// stepPaths are the steps with each of their paths, in requests that are otherwise harmless.
func (g *target) stepPaths() map[string]func(ctx context.Context, path string) error {
	c := g.steps()
	disk := &steps.StageDiskRequest_DiskNumber{DiskNumber: 1}
	return map[string]func(context.Context, string) error{
		"StageDisk": func(ctx context.Context, path string) error {
			_, err := c.StageDisk(ctx, &steps.StageDiskRequest{TargetPath: path, Disk: disk})
			return err
		},
		"StageShare": func(ctx context.Context, path string) error {
			_, err := c.StageShare(ctx, &steps.StageShareRequest{RemotePath: `\\fs.emulated\share`, TargetPath: path,
				Username: "csi", Password: stepSecret})
			return err
		},
		"Unstage": func(ctx context.Context, path string) error {
			_, err := c.Unstage(ctx, &steps.UnstageRequest{TargetPath: path})
			return err
		},
		"Publish": func(ctx context.Context, path string) error {
			_, err := c.Publish(ctx, &steps.PublishRequest{SourcePath: pods, TargetPath: path})
			return err
		},
		"Publish, the source": func(ctx context.Context, path string) error {
			_, err := c.Publish(ctx, &steps.PublishRequest{SourcePath: path, TargetPath: pods + `\published`})
			return err
		},
		"Expand": func(ctx context.Context, path string) error {
			_, err := c.Expand(ctx, &steps.ExpandRequest{TargetPath: path})
			return err
		},
		"GetVolume": func(ctx context.Context, path string) error {
			_, err := c.GetVolume(ctx, &steps.GetVolumeRequest{TargetPath: path})
			return err
		},
		"GetUsage": func(ctx context.Context, path string) error {
			_, err := c.GetUsage(ctx, &steps.GetUsageRequest{TargetPath: path})
			return err
		},
	}
}

// The table of the other groups for the steps: paths that are none, and links on the way to a path.
func TestHostileSteps(t *testing.T) {
	g := attack(t, testnode.Options{})
	dir := pods + `\planted`
	g.hostDir(dir)
	g.plantOne(dir, planted{name: "out", point: symlink(`\??\` + canary)})
	calls := g.stepPaths()
	before := g.snapshot()
	try := func(path string, want ...codes.Code) {
		for name, call := range calls {
			err := call(t.Context(), path)
			what := fmt.Sprintf("%s of %q", name, clip(path))
			if got := status.Code(err); got != want[0] && got != want[len(want)-1] {
				t.Errorf("%s: %v, want %v", what, clip(fmt.Sprint(err)), want)
			}
			if text := fmt.Sprint(err); len(text) > 5000 || strings.ContainsAny(text, "\x00\n\r\x1b") ||
				strings.Contains(text, stepSecret) {
				t.Errorf("%s: the error is %d bytes long, has control characters in it, or the password", what, len(text))
			}
		}
	}
	number := 0
	for _, hostile := range hostilePaths(g) {
		if number++; testnode.Sampled(t, number, 0, 40) {
			try(hostile.path, codes.InvalidArgument)
		}
	}
	try("", codes.InvalidArgument)
	before = g.unchanged("paths", before)
	delete(calls, "Publish, the source") // a link may lead to a link, and is not followed outside
	try(dir+`\out\victim`, codes.FailedPrecondition, codes.InvalidArgument)
	for name := range g.snapshot() {
		if _, was := before[name]; !was && !strings.HasSuffix(name, ".lock") && name != "node/records" {
			t.Errorf("links on the way: %s is new", name)
		}
	}
	g.unchangedBut("node/records", before)
	g.alive()
}

// Texts without end are refused before anybody waits for what they describe, and passwords are in no error.
func TestHostileStepTexts(t *testing.T) {
	g := attack(t, testnode.Options{})
	c, at, long := g.steps(), pods+`\step`, strings.Repeat("a", 32<<10)
	before := g.snapshot()
	check := func(what string, err error, want codes.Code) {
		t.Helper()
		if text := fmt.Sprint(err); status.Code(err) != want || len(text) > 5000 || strings.Contains(text, stepSecret) {
			t.Errorf("%s: %v of %d bytes, want %v: %s", what, status.Code(err), len(text), want, clip(text))
		}
		before = g.unchanged(what, before)
	}
	for _, r := range []*steps.StageDiskRequest{
		{Disk: &steps.StageDiskRequest_SerialNumber{SerialNumber: long}},
		{Disk: &steps.StageDiskRequest_Page83Id{Page83Id: long}},
		{Disk: &steps.StageDiskRequest_EbsVolumeId{EbsVolumeId: long}},
		{Disk: &steps.StageDiskRequest_GceDeviceName{GceDeviceName: long}},
		{Disk: &steps.StageDiskRequest_VsphereUuid{VsphereUuid: long}},
		{Disk: &steps.StageDiskRequest_Model{Model: long}}, {Disk: &steps.StageDiskRequest_Model{}}, {Disk: &steps.StageDiskRequest_SerialNumber{}},
		{Disk: &steps.StageDiskRequest_Eui64{}},
		{Disk: &steps.StageDiskRequest_IscsiDisk{IscsiDisk: &steps.ISCSIDisk{TargetAddress: long,
			Iqn: "iqn.2026-01.emulated:open"}}},
		{Disk: &steps.StageDiskRequest_IscsiDisk{IscsiDisk: &steps.ISCSIDisk{TargetAddress: "192.0.2.10", Iqn: long}}}, {},
	} {
		r.TargetPath = at
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := c.StageDisk(ctx, r)
		cancel()
		check(fmt.Sprintf("%.40v", r), err, codes.InvalidArgument)
	}
	_, err := c.StageDisk(t.Context(),
		&steps.StageDiskRequest{TargetPath: at, Disk: &steps.StageDiskRequest_DiskNumber{DiskNumber: 0xffffffff}})
	check("the last disk number", err, codes.NotFound)
	_, err = c.Expand(t.Context(), &steps.ExpandRequest{TargetPath: mount, SizeBytes: -1})
	check("a negative size", err, codes.InvalidArgument)
	_, err = c.Expand(t.Context(), &steps.ExpandRequest{TargetPath: mount, SizeBytes: 1<<63 - 1})
	check("the largest size", err, codes.OutOfRange)
	for _, r := range []*steps.StageShareRequest{
		{RemotePath: long}, {RemotePath: `\\` + long + `\share`}, {RemotePath: `\\fs.emulated\C$`},
		{RemotePath: `\\localhost\share`}, {RemotePath: `\\fs.emulated\share`, Username: long},
		{RemotePath: `C:\Windows`}, {RemotePath: `\\?\C:\Windows`}, {RemotePath: "\\\\fs.emulated\\sh\x01are"},
	} {
		r.TargetPath, r.Password = at, stepSecret
		r.Username += "csi"
		_, err := c.StageShare(t.Context(), r)
		if got := status.Code(err); got != codes.InvalidArgument || strings.Contains(fmt.Sprint(err), stepSecret) ||
			len(fmt.Sprint(err)) > 5000 {
			t.Errorf("%.60v: %s", r.GetRemotePath(), clip(fmt.Sprint(err)))
		}
	}
	_, err = c.StageShare(t.Context(), &steps.StageShareRequest{RemotePath: `\\fs.emulated\share`, TargetPath: at,
		Username: "csi", Password: stepSecret})
	if status.Code(err) != codes.Unauthenticated || strings.Contains(fmt.Sprint(err), stepSecret) {
		t.Errorf("a wrong password: %v", err)
	}
	g.alive()
}
