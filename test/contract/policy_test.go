// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	client "github.com/kubernetes-csi/csi-proxy/client/groups/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// The examples in deploy/policies allow what the drivers of file shares do. Their clients here have the newest version
// of the filesystem group.
func TestShareDriversUnderTheExamples(t *testing.T) {
	forBothDrivers(t, func(t *testing.T, removesMapping bool) {
		file := map[bool]string{true: "smb", false: "azure-file"}[removesMapping]
		text, err := os.ReadFile("../../deploy/policies/" + file + ".yaml")
		noError(t, err)
		_, err = policy.Parse(file, text)
		noError(t, err)
		text = regexp.MustCompile(`(?s)  clients:.*?  methods:`).ReplaceAll(text,
			[]byte("  clients: [{any: true}]\n  methods:"))
		text = regexp.MustCompile(`(kubernetes\.io\\csi\\)\S+`).ReplaceAll(text, []byte(`${1}smb.csi.k8s.io`))
		text = regexp.MustCompile(`smbServers: \[[^]]*\]`).ReplaceAll(text, []byte(`smbServers: ['*.emulated']`))
		p, err := policy.Parse(file, []byte(strings.ReplaceAll(string(text), "filesystem/v1/", "filesystem/")))
		noError(t, err)
		newShareDriverOn(t, testnode.Options{Policy: p}, removesMapping).live()
	})
}

// The example for a driver of the group nodesteps allows each of its methods, and no call of another group.
func TestStepsUnderTheExample(t *testing.T) {
	text, err := os.ReadFile("../../deploy/policies/nodesteps.yaml")
	noError(t, err)
	_, err = policy.Parse("nodesteps", text)
	noError(t, err)
	text = regexp.MustCompile(`(?s)  clients:.*?  methods:`).ReplaceAll(text,
		[]byte("  clients: [{any: true}]\n  methods:"))
	text = regexp.MustCompile(`smbServers: \[[^]]*\]`).ReplaceAll(text, []byte(`smbServers: ['*.emulated']`))
	p, err := policy.Parse("nodesteps", text)
	noError(t, err)
	n := testnode.Start(t, testnode.Options{Policy: p})
	steps, err := client.NewClientWithPipePath(n.Socket("nodesteps", "v1alpha1"))
	noError(t, err)
	t.Cleanup(func() { _ = steps.Close() })
	const staging, publish = `C:\var\lib\kubelet\plugins\kubernetes.io\csi\example.csi.k8s.io\volume`,
		`C:\var\lib\kubelet\pods\pod`
	_, err = steps.StageDisk(t.Context(),
		&nodesteps.StageDiskRequest{TargetPath: staging, Disk: &nodesteps.StageDiskRequest_DiskNumber{DiskNumber: 1},
			Access: []*nodesteps.AccessEntry{{Sid: "S-1-5-93-2-2", Rights: nodesteps.AccessRights_ACCESS_RIGHTS_MODIFY}}})
	noError(t, err)
	_, err = steps.Publish(t.Context(), &nodesteps.PublishRequest{SourcePath: staging, TargetPath: publish})
	noError(t, err)
	_, err = steps.Expand(t.Context(), &nodesteps.ExpandRequest{TargetPath: publish})
	noError(t, err)
	_, err = steps.GetVolume(t.Context(), &nodesteps.GetVolumeRequest{TargetPath: publish})
	noError(t, err)
	_, err = steps.StageShare(t.Context(), &nodesteps.StageShareRequest{RemotePath: `\\fs.emulated\share`,
		TargetPath: staging + `-share`, Username: "csi", Password: "csi-password"})
	noError(t, err)
	_, err = steps.GetUsage(t.Context(), &nodesteps.GetUsageRequest{TargetPath: staging + `-share`})
	noError(t, err)
	for _, path := range []string{publish, staging, staging + `-share`} {
		_, err = steps.Unstage(t.Context(), &nodesteps.UnstageRequest{TargetPath: path})
		noError(t, err)
	}
	_, err = n.Disk.Rescan(t.Context(), &disk.RescanRequest{})
	wantCode(t, err, codes.PermissionDenied)
}
