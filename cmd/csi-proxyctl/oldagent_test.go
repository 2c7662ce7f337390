// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
)

// TestAgentWithoutFacts: of an agent of release 0.1.0, which has no GetFacts and no emulated node, each command says
// what it cannot do, and doctor what it has not looked at.
func TestAgentWithoutFacts(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"csiproxy-admin", "csi-proxy-disk-v1"} {
		l, err := net.Listen("unix", filepath.Join(dir, name+".sock"))
		if err != nil {
			t.Fatal(err)
		}
		s := grpc.NewServer()
		grpc_health_v1.RegisterHealthServer(s, health.NewServer())
		if name == "csiproxy-admin" {
			s.RegisterService(&grpc.ServiceDesc{ServiceName: admin.Admin_ServiceDesc.ServiceName}, nil)
		}
		go func() { _ = s.Serve(l) }()
		t.Cleanup(s.Stop)
	}
	for command, want := range map[string]string{
		"doctor": "mount points, links, SMB mappings, iSCSI sessions, privileges, operations that hang: the agent is older " +
			"than the release after 0.1.0, and does not tell it",
		"doctor -o npd --reason DiskNotBlank": "not known: the agent did not list the disks",
		"smb list":                            "this agent is too old for that: it takes an agent of the release after 0.1.0",
		"node reboot":                         "the agent has no emulated node, and this command is for one only",
	} {
		var out strings.Builder
		run(t.Context(), append(strings.Fields(command), "--socket-dir", dir), &out, &out)
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: got\n%s\nwant %q", command, out.String(), want)
		}
	}
}
