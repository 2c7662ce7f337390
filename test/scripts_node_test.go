// SPDX-License-Identifier: Apache-2.0

//go:build unix

package test_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	proxyclient "github.com/kubernetes-csi/csi-proxy/client"
	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
)

// ctl runs csi-proxyctl and returns its output.
func ctl(ts *testscript.TestScript, args ...string) string {
	ts.Check(ts.Exec("csi-proxyctl", args...))
	return strings.TrimSpace(ts.ReadFile("stdout"))
}

// formatted DISK gives a blank disk a formatted volume, and sets the environment variable VOLUME to its id.
func formatted(ts *testscript.TestScript, args []string) {
	ctl(ts, "disk", "partition", args[0], "--yes")
	id := ctl(ts, "volume", "list", args[0])
	ctl(ts, "volume", "format", id, "--yes")
	ts.Setenv("VOLUME", id)
}

// staged DISK is formatted DISK, with the volume mounted at $STAGING.
func staged(ts *testscript.TestScript, args []string) {
	formatted(ts, args)
	ctl(ts, "volume", "mount", ts.Getenv("VOLUME"), ts.Getenv("STAGING"))
}

// stage SHARE PATH has a driver stage a volume of a share.
func stageShare(ts *testscript.TestScript, args []string) {
	client := csiproxy.New(csiproxy.Options{SocketDir: ts.Getenv("CSI_PROXY_SOCKET_DIR")})
	defer func() { ts.Check(client.Close()) }()
	_, err := client.NodeSteps.StageShare(context.Background(), &csiproxy.StageShareRequest{RemotePath: args[0],
		TargetPath: args[1], Username: "csi", Password: "csi-password"})
	ts.Check(err)
}

// asks METHOD CODE has a driver call a method of disk v1 with an empty request, and checks the code of the answer.
func asks(ts *testscript.TestScript, args []string) {
	conn, err := dial.Open(context.Background(), proxyclient.PipePath("disk", apiversion.NewVersionOrPanic("v1")),
		dial.Options{SocketDir: ts.Getenv("CSI_PROXY_SOCKET_DIR")})
	ts.Check(err)
	defer func() { ts.Check(conn.Close()) }()
	err = conn.Invoke(context.Background(), "/v1.Disk/"+args[0], &emptypb.Empty{}, &emptypb.Empty{})
	if code := status.Code(err).String(); code != args[1] {
		ts.Fatalf("%s: %s, want %s: %v", args[0], code, args[1], err)
	}
}

// write PATH TEXT writes a file of the node as a workload on it would.
func write(ts *testscript.TestScript, args []string) {
	ts.Check(os.WriteFile(ctl(ts, "node", "path", args[0]), []byte(args[1]), 0o600))
}

// holds PATH TEXT fails unless a file of the node holds that text.
func holds(ts *testscript.TestScript, args []string) {
	content, err := os.ReadFile(ctl(ts, "node", "path", args[0]))
	ts.Check(err)
	if string(content) != args[1] {
		ts.Fatalf("%s holds %q, want %q", args[0], content, args[1])
	}
}

// volumes stage|publish N stages disks 1 to N as kubelet has two drivers do it, by turns and with its vol_data.json, or
// publishes each to a pod of its own. The second driver's paths have the form that kubelet had before 1.24.
func volumes(ts *testscript.TestScript, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	for i := 1; i <= n; i++ {
		driver, dir := "a.example", fmt.Sprintf(`C:\var\lib\kubelet\plugins\kubernetes.io\csi\a.example\v%d`, i)
		if i%2 == 0 {
			driver, dir = "b.example", fmt.Sprintf(`C:\var\lib\kubelet\plugins\kubernetes.io\csi\pv\pv%d`, i)
		}
		if args[0] == "stage" {
			ctl(ts, "fs", "mkdir", dir)
			write(ts, []string{dir + `\vol_data.json`, fmt.Sprintf(`{"driverName": %q}`, driver)})
			ctl(ts, "disk", "stage", fmt.Sprint(i), dir+`\globalmount`)
			continue
		}
		pod := fmt.Sprintf(`C:\var\lib\kubelet\pods\pod%d\volumes\kubernetes.io~csi\pv%d`, i, i)
		ctl(ts, "fs", "mkdir", pod)
		ctl(ts, "fs", "link", dir+`\globalmount`, pod+`\mount`)
	}
}

// scenario FILE DISKS SHARES writes a scenario with that many formatted disks, and shares s1, s2 and so on.
func scenario(ts *testscript.TestScript, args []string) {
	var text strings.Builder
	for i := range number(ts, args[1]) {
		fmt.Fprintf(&text, "%s  - {size: 64MiB, serial: vol%017d, content: formatted}\n", firstOnly(i, "disks:\n"), i+1)
	}
	for i := range number(ts, args[2]) {
		fmt.Fprintf(&text, "%s      - {name: s%d}\n", firstOnly(i, "smbServers:\n  - name: fs.emulated\n    shares:\n"), i+1)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text.String()), 0o600))
}

func firstOnly(i int, text string) string {
	if i > 0 {
		return ""
	}
	return text
}

func number(ts *testscript.TestScript, text string) int {
	n, err := strconv.Atoi(text)
	ts.Check(err)
	return n
}

// shares N has a driver stage the shares s1 to sN of fs.emulated, and publishes each to a pod of its own, with names as
// long as Kubernetes' own.
func shares(ts *testscript.TestScript, args []string) {
	client := csiproxy.New(csiproxy.Options{SocketDir: ts.Getenv("CSI_PROXY_SOCKET_DIR")})
	defer func() { ts.Check(client.Close()) }()
	for i := 1; i <= number(ts, args[0]); i++ {
		stage := fmt.Sprintf(`C:\var\lib\kubelet\plugins\kubernetes.io\csi\smb.csi.k8s.io\%064d\globalmount`, i)
		stageShare(ts, []string{fmt.Sprintf(`\\fs.emulated\s%d`, i), stage})
		uid := fmt.Sprintf("%08d-5d2f-4f43-9a5e-7a8d5f2b6c11", i)
		pod := fmt.Sprintf(`C:\var\lib\kubelet\pods\%s\volumes\kubernetes.io~csi\pvc-%[1]s`, uid)
		_, err := client.Filesystem.Mkdir(context.Background(), &csiproxy.MkdirRequest{Path: pod})
		ts.Check(err)
		_, err = client.Filesystem.CreateSymlink(context.Background(),
			&csiproxy.CreateSymlinkRequest{SourcePath: stage, TargetPath: pod + `\mount`})
		ts.Check(err)
	}
}
