// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/machine"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// A client of a pipe is known by its token, its program and the absence of a container; here the client is this test.
func TestPolicyOfAPipesClient(t *testing.T) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sid := "sid: " + user.User.Sid.String()
	for client, allowed := range map[string]bool{
		sid:                      true,
		sid + ", container: any": false,
		sid + ", container: none, image: '" + program + "'": true,
		"image: '" + strings.ToUpper(program) + "'":         true,
		"image: '" + filepath.Dir(program) + `\'`:           true,
		"image: '" + program + ".exe'":                      false,
		"image: 'C:\\Windows\\'":                            false,
		"sid: S-1-5-18":                                     machine.RunsAsSystem(),
		sid + ", elevated: " + map[bool]string{true: "false", false: "true"}[elevated()]: false,
		"uid: 0": false,
	} {
		p, err := policy.Parse("policy",
			[]byte("apiVersion: "+policy.APIVersion+"\nkind: Policy\nrules:\n- name: a\n  "+
				"clients: [{"+client+"}]\n  methods: [read]\n"))
		if err != nil {
			t.Fatal(err)
		}
		n := testnode.Start(t, testnode.Options{Policy: p})
		want := codes.PermissionDenied
		if allowed {
			want = codes.OK
		}
		_, err = n.Disk.ListDiskIDs(t.Context(), &disk.ListDiskIDsRequest{})
		if status.Code(err) != want {
			t.Errorf("{%s}: got %v, want %v", client, err, want)
		}
		_, err = n.Disk.Rescan(t.Context(), &disk.RescanRequest{})
		if status.Code(err) != codes.PermissionDenied {
			t.Errorf("{%s}: a method that the rule does not have: %v", client, err)
		}
	}
}

func elevated() bool { return windows.GetCurrentProcessToken().IsElevated() }
