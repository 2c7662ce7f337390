// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"

	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/audit"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// own is the directory of the driver that the policies below restrict, and others that of another driver.
const (
	own    = kubelet + `\plugins\kubernetes.io\csi\own`
	others = kubelet + `\plugins\kubernetes.io\csi\others`
)

func parsePolicy(t *testing.T, rules string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("policy.yaml", []byte("apiVersion: "+policy.APIVersion+"\nkind: Policy\nrules:\n"+rules))
	noError(t, err)
	return p
}

// restricted stops the agent of a prepared node, and starts another one with a policy.
func (g *target) restricted(o testnode.Options, rules string) *target {
	g.t.Helper()
	noError(g.t, g.Agent.Stop(g.t.Context()))
	o.StateDir, o.Policy = g.StateDir, parsePolicy(g.t, rules)
	n := testnode.Start(g.t, o)
	r := *g
	r.Node, r.wire, r.admin = n, dialAll(g.t, n), n.Admin(g.t)
	return &r
}

// wantPolicy checks that a call was refused by the policy.
func wantPolicy(t *testing.T, what any, err error) {
	t.Helper()
	if status.Code(err) == codes.PermissionDenied && reason(err) == "POLICY" {
		return
	}
	t.Errorf("%v: got %s, want PermissionDenied with the reason POLICY", what, clip(fmt.Sprint(err)))
}

// Each of the API's methods is refused to a client without a rule and to one whose rule has another version of the
// method or another method, before it looks at the request. Health stays open.
func TestPolicyOfMethods(t *testing.T) {
	g := attack(t, testnode.Options{})
	for name, rules := range map[string]string{
		"no rule":       "- name: a\n  clients: [{uid: 4294967294}]\n  methods: ['*']\n",
		"other version": "- name: a\n  clients: [{any: true}]\n  methods: [disk/v1/GetDiskStats, volume/v1alpha1]\n",
	} {
		g = g.restricted(testnode.Options{}, rules)
		before := g.snapshot()
		for _, path := range policy.Methods() {
			group, version, _ := strings.Cut(policy.Written(path), "/")
			version, _, _ = strings.Cut(version, "/")
			conn := g.dial(g.Socket(group, version))
			var request, response []byte
			err := conn.Invoke(t.Context(), path, &request, &response, grpc.ForceCodec(rawCodec{}))
			if name == "other version" && (path == "/v1.Disk/GetDiskStats" || group == "volume" && version == "v1alpha1") {
				if status.Code(err) == codes.PermissionDenied {
					t.Errorf("%s, %s: %v", name, path, err)
				}
			} else {
				wantPolicy(t, name+", "+path, err)
			}
			health, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
			if err != nil || health.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
				t.Errorf("health: %v, %v", health, err)
			}
			_ = conn.Close()
		}
		g.unchanged(name, before)
	}
}

func (g *target) dial(socket string) *grpc.ClientConn {
	g.t.Helper()
	conn, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn,
			error) {
			return testnode.DialRaw(ctx, socket)
		}))
	noError(g.t, err)
	return conn
}

// A driver that may use its own directories does not get into another's, in whatever spelling it asks, through links of
// its own or through mount points; and what it may not reach is not touched.
func TestPolicyOfDirectories(t *testing.T) {
	g := attack(t, testnode.Options{})
	for _, dir := range []string{own, others + `\victim\inner`, own + `\dir\victim\inner`} {
		g.hostDir(dir)
	}
	g.WriteFile(others+`\victim\inner\file`, "precious")
	g = g.restricted(testnode.Options{}, `- name: own
  clients: [{any: true}]
  methods: ['*']
  directories: ['`+own+`', '`+pods+`\own']
`)
	for _, l := range []planted{
		{name: "symlink", point: symlink(`\??\` + others)},
		{name: "case", point: symlink(`\??\` + strings.ToUpper(others))},
		{name: "junction", point: mountPoint(`\??\` + others)},
		{name: "above", point: symlink(`\??\` + kubelet + `\plugins`)},
		{name: "lookalike", point: symlink(`\??\` + own + `2`)},
		{name: "pods", point: symlink(`\??\` + pods + `\peer`)},
		{name: "twice", point: symlink(`\??\` + own + `\symlink`)},
		{name: "inside", point: symlink(`\??\` + own + `\dir`)},
	} {
		g.plantOne(own, l)
	}
	g.hostDir(own + `2\victim`)
	before := g.snapshot()
	number := 0
	for _, path := range []string{
		others + `\victim`, strings.ToLower(others) + `\VICTIM`, strings.ReplaceAll(others, `\`, "/") + "/victim",
		strings.TrimPrefix(others, "C:") + `\victim`,
		own + `\..\others\victim`, own + `\.\..\others\victim`, own + `2\victim`, own + `.\..\others`, own + ` \x`,
		own + `\\..\\others\victim`,
		`C:\var\lib\kubelet\plugins\KUBERN~1.IO\csi\others\victim`, `\\?\` + others + `\victim`, `\??\` + others,
		`\\localhost\C$\var\lib\kubelet`,
		own + `\x:y`, kubelet, pods, pods + `\peer\victim`, mount, `C:\`, `C:\Windows`, own + "\x00" + `\x`,
		own + `\symlink\victim`, own + `\case\victim`, own + `\junction\victim`,
		own + `\above\kubernetes.io\csi\others\victim`, own + `\lookalike\victim`,
		own + `\pods\victim`, own + `\twice\victim`, own + `\twice\new`,
	} {
		throughLink := slices.Contains([]string{"symlink", "case", "junction", "above", "lookalike", "pods", "twice"},
			first(strings.TrimPrefix(path, own+`\`)))
		g.eachField(kind.isPath, func(m method, f field, request values) {
			if number++; !testnode.Sampled(t, number, 0, 3) {
				return
			}
			for other := range request { // the other path is fine
				if strings.HasSuffix(other, "path") {
					request[other] = own + `\fine`
				}
			}
			request[f.name] = path
			what := fmt.Sprintf("%v, %s %q", m, f.name, path)
			_, err := g.call(t.Context(), m, m.encode(t, request))
			if throughLink && m.name == "IsSymlink" && err == nil {
				return
			}
			wantPolicy(t, what, err)
		})
		before = g.unchanged(path, before)
	}
	// Allowed calls keep working.
	for _, path := range []string{own + `\dir\victim`, own + `\inside\victim`, strings.ToUpper(own) + `\DIR`,
		strings.TrimPrefix(own, "C:") + `\dir`} {
		exists, err := g.Filesystem.PathExists(t.Context(), &filesystem.PathExistsRequest{Path: path})
		if err != nil || !exists.GetExists() {
			t.Errorf("PathExists(%s): %v, %v, want true", path, exists.GetExists(), err)
		}
	}
	_, err := g.Filesystem.Rmdir(t.Context(), &filesystem.RmdirRequest{Path: own + `\symlink`, Force: true})
	wantCode(t, "removing the link itself", err, codes.OK)
	g.unchangedBut(`symlink`, before)
}

// first returns the first component.
func first(path string) string { name, _, _ := strings.Cut(path, `\`); return name }

// unchangedBut is unchanged for everything whose name does not contain a text.
func (g *target) unchangedBut(text string, before snapshot) {
	g.t.Helper()
	after := g.snapshot()
	for name, what := range before {
		if !strings.Contains(name, text) && after[name] != what {
			g.t.Errorf("%s was %q and is %q", name, what, after[name])
		}
	}
}

// A share that a client may not reach is not reached through a link that it finds either, and mappings are its own.
func TestPolicyOfServers(t *testing.T) {
	g := attack(t, testnode.Options{})
	noError(t, mapShare(t.Context(), g.Node, share, shareLink))
	g = g.restricted(testnode.Options{}, `- name: all but the server
  clients: [{any: true}]
  methods: ['*']
  directories: ['`+kubelet+`']
  services: [msiscsi]
  smbServers: [elsewhere, '*.example.com']
`)
	before := g.snapshot()
	for what, call := range map[string]func() error{
		"a new mapping": func() error { return mapShare(t.Context(), g.Node, share, "") },
		"upper case":    func() error { return mapShare(t.Context(), g.Node, strings.ToUpper(share), "") },
		"slashes":       func() error { return mapShare(t.Context(), g.Node, `//fs.emulated/share`, "") },
		"removing it": func() error {
			_, err := g.SMB.RemoveSmbGlobalMapping(t.Context(), &smb.RemoveSmbGlobalMappingRequest{RemotePath: share})
			return err
		},
		"through the link": func() error {
			_, err := g.Filesystem.Mkdir(t.Context(), &filesystem.MkdirRequest{Path: shareLink + `\new`})
			return err
		},
		"the volume behind it": func() error {
			_, err := g.Volume.GetClosestVolumeIDFromTargetPath(t.Context(),
				&volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: shareLink + `\new`})
			return err
		},
	} {
		wantPolicy(t, what, call())
		before = g.unchanged(what, before)
	}
}

// The audit log has the rule that decided, and the refusals.
func TestPolicyIsAudited(t *testing.T) {
	file := &safeBuffer{}
	g := attack(t, testnode.Options{}).restricted(testnode.Options{Audit: audit.New(file, klog.Background()).Record},
		"- name: readers\n  clients: [{any: true}]\n  methods: [read]\n  directories: ['"+pods+"']\n")
	for path, force := range map[string]bool{pods: false, others: false} {
		_, _ = g.Filesystem.PathExists(t.Context(), &filesystem.PathExistsRequest{Path: path})
		_, _ = g.Filesystem.Rmdir(t.Context(), &filesystem.RmdirRequest{Path: path, Force: force})
	}
	noError(t, g.Agent.Stop(t.Context()))
	seen := map[string]int{}
	for _, text := range file.lines() {
		var line struct{ Method, Rule, Code, Reason string }
		noError(t, json.Unmarshal([]byte(text), &line))
		seen[line.Method+" "+line.Rule+" "+line.Code+" "+line.Reason]++
	}
	want := "map[/v2alpha1.Filesystem/PathExists readers OK :1 /v2alpha1.Filesystem/PathExists readers PermissionDenied " +
		"POLICY:1 " +
		"/v2alpha1.Filesystem/Rmdir readers PermissionDenied POLICY:2]"
	if got := fmt.Sprint(seen); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
