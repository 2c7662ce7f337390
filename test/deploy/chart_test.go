// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// required sets the values that must be given, and no others.
const required = "charts/csi-proxy/ci/required-values.yaml"

func TestChartLints(t *testing.T) {
	stdout, stderr, err := helm(t, "lint", chart, "--strict", "--values", filepath.Join(root, required))
	if err != nil || regexp.MustCompile(`\[(INFO|WARNING|ERROR)\]`).MatchString(stdout) {
		t.Errorf("%v\n%s%s", err, stdout, stderr)
	}
}

// The chart embeds its icon, so that none is downloaded; icon.svg is the source.
func TestChartHasItsIcon(t *testing.T) {
	want := "\nicon: data:image/svg+xml;base64," +
		base64.StdEncoding.EncodeToString(read(t, "charts/csi-proxy/icon.svg")) + "\n"
	if !strings.Contains(string(read(t, "charts/csi-proxy/Chart.yaml")), want) {
		t.Errorf("Chart.yaml lacks icon.svg:%s", want)
	}
}

const valuesFiles = "test/deploy/testdata/chart/*.values.yaml"

// Each testdata/chart/NAME.values.yaml is rendered to NAME.golden.yaml.
func TestChartRenders(t *testing.T) {
	for _, file := range matching(t, valuesFiles) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".values.yaml"), func(t *testing.T) {
			got := template(t, file)
			daemonSet(t, decode(t, got))
			isGolden(t, strings.TrimSuffix(file, ".values.yaml")+".golden.yaml", string(got))
		})
	}
}

// A wrong value is refused, with its place and the values allowed there.
func TestChartRefuses(t *testing.T) {
	tests := []struct {
		name string
		set  []string // as JSON
		want []string
	}{
		{"a misspelt value", []string{`metric={}`}, []string{"metric", "additional properties"}},
		{"a misspelt value further down", []string{`agent.workingDir="C:\\x"`},
			[]string{"agent", "workingDir", "additional properties"}},
		{"another mode", []string{`mode="job"`}, []string{"mode", "'daemonset', 'service'"}},
		{"no image", []string{`image.repository=""`}, []string{"image.repository is required", "deploy/image"}},
		{"a version that does not exist", []string{`agent.apis.disk=["v2"]`}, []string{"agent/apis/disk"}},
		{"a group that does not exist", []string{`agent.apis.disks="off"`}, []string{"agent/apis", "disks"}},
		{"a working directory without a drive", []string{`agent.workingDirs=["\\data"]`},
			[]string{`agent.workingDirs[0] is '\data'`, "begins with its drive"}},
		{"a path with slashes", []string{`agent.kubeletPath="C:/var/lib/kubelet"`},
			[]string{`agent.kubeletPath is 'C:/var/lib/kubelet'`, "has backslashes"}},
		{"the removal of a service by the mode that has none", []string{`service.state="absent"`},
			[]string{"service.state=absent", "needs mode=service"}},
		{"two agents at once on a node", []string{`updateStrategy={"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}`},
			[]string{"updateStrategy/rollingUpdate", "maxSurge"}},
		{"a monitor that reaches nothing", []string{`metrics.podMonitor.enabled=true`},
			[]string{"metrics.podMonitor needs metrics.exposure: node"}},
		{"a port out of range", []string{`metrics.port=70000`}, []string{"metrics/port", "65,535"}},
		{"a label that selects the pods", []string{`podLabels={"app.kubernetes.io/name":"x"}`}, []string{"podLabels"}},
		{"a label that the chart sets", []string{`commonLabels={"helm.sh/chart":"x"}`}, []string{"commonLabels"}},
		{"a variable that the chart sets", []string{`extraEnv=[{"name":"HOST_IP","value":"192.0.2.1"}]`},
			[]string{"extraEnv/0/name"}},
		{"a digest that is none", []string{`image.digest="latest"`}, []string{"image/digest"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			args := []string{"template", "csi-proxy", chart, "--values", filepath.Join(root, required)}
			for _, set := range test.set {
				args = append(args, "--set-json", set)
			}
			stdout, stderr, err := helm(t, args...)
			if err == nil {
				t.Fatalf("rendered:\n%s", stdout)
			}
			for _, want := range test.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("the error does not say %q:\n%s", want, stderr)
				}
			}
		})
	}
}

// Helm's --set drops single backslashes. The chart names each value that lacks them and what to type, which works.
func TestChartNamesSwallowedBackslashes(t *testing.T) {
	for _, test := range []struct{ set, want string }{
		{`agent.workingDirs={D:\\data,C:\data}`, "agent.workingDirs[1] is 'C:data'"},
		{`agent.kubeletPath=C:\var\lib\kubelet`, "agent.kubeletPath is 'C:varlibkubelet'"},
		{`agent.policy=C:\k\policy.yaml`, "agent.policy is 'C:kpolicy.yaml'"},
		{`service.installDir=C:\csi-proxy`, "service.installDir is 'C:csi-proxy'"},
		{`agent.extraArgs={-v=4,-log_file=C:\k\csi-proxy.err.log}`,
			"agent.extraArgs[1] is '-log_file=C:kcsi-proxy.err.log'"},
		{`agent.extraArgs={-metrics-bind-address=[::]:29660,-pipe-security=D:P(A;;GA;;;SY)}`, ""},
	} {
		for _, set := range []string{test.set, strings.ReplaceAll(test.set, `\`, `\\`)} {
			want := test.want
			if set != test.set {
				want = ""
			}
			_, stderr, err := helm(t, "template", "csi-proxy", chart, "--values", filepath.Join(root, required), "--set", set)
			if want == "" && err != nil {
				t.Errorf("--set %s: %v\n%s", set, err, stderr)
			}
			for _, part := range []string{want, `write each twice, in single quotes, as in --set 'agent.policy=C:\\data`} {
				if want != "" && !strings.Contains(stderr, part) {
					t.Errorf("--set %s: the error does not say %q:\n%s", set, part, stderr)
				}
			}
		}
	}
}

// The chart renders what the page says to type for nodes of AKS, and the log's path arrives whole.
func TestMovingPageRenders(t *testing.T) {
	typed := regexp.MustCompile(`(?m)^helm install (.* 'agent.extraArgs=.*)$`).FindSubmatch(read(t, "docs/move.md"))
	if typed == nil {
		t.Fatal("docs/move.md has no command with agent.extraArgs")
	}
	command := exec.CommandContext(t.Context(), "bash", "-c", `"$0" template `+string(typed[1]), tool(t, "helm"))
	command.Dir = root
	got, err := command.CombinedOutput()
	if want := `            -log_file=C:\k\csi-proxy.err.log`; err != nil || !strings.Contains(string(got), want+"\n") {
		t.Errorf("%v; rendered without %q:\n%s", err, want, got)
	}
}

// HostProcess starts a container's command through "cmd /c" where bindfltapi.dll exists. No text that the chart puts
// there may have a character that cmd reads, not even between quotation marks.
// https://github.com/microsoft/hcsshim/blob/v0.11.0/internal/jobcontainers/jobcontainer.go
func TestChartRefusesWhatCmdReads(t *testing.T) {
	// As JSON; the character comes after each @. The schema's errors have JSON pointers, those of templates have the
	// values' names. Templates are not rendered while the schema refuses something.
	places := map[string]string{
		"'/agent/protectedServices/0'": `agent.protectedServices=["a@b"]`,
		"'/agent/pipeSecurity'":        `agent.pipeSecurity="D:P(A;;GA;;;SY)@"`,
		"'/agent/extraArgs/0'":         `agent.extraArgs=["-a=b@c"]`,
	}
	paths := map[string]string{
		"agent.kubeletPath is":    `agent.kubeletPath="C:\\a@b"`,
		"agent.workingDirs[0] is": `agent.workingDirs=["C:\\a@b","C:\\a@"]`,
		"agent.workingDirs[1] is": "",
		"agent.policy is":         `agent.policy="C:\\a@b.yaml"`,
		"service.installDir is":   `service.installDir="C:\\a@b"`,
	}
	for _, character := range []string{"", "&", "|", "<", ">", "^", "%", `\"`, `\r`, `\n`} {
		for name, places := range map[string]map[string]string{"schema": places, "paths": paths} {
			t.Run(name+" "+character, func(t *testing.T) {
				args := []string{"template", "csi-proxy", chart, "--values", filepath.Join(root, required)}
				for _, set := range places {
					if set != "" {
						args = append(args, "--set-json", strings.ReplaceAll(set, "@", character))
					}
				}
				_, stderr, err := helm(t, args...)
				if character == "" && err != nil {
					t.Errorf("refused without a character: %v\n%s", err, stderr)
				}
				for place := range places {
					if refused := strings.Contains(stderr, place); refused == (character == "") {
						t.Errorf("%s: refused is %v", place, refused)
					}
				}
			})
		}
	}
}

// A new version of the chart alone replaces no agent: the pods' template stays as it is.
func TestChartsVersionReplacesNoAgent(t *testing.T) {
	newer := filepath.Join(t.TempDir(), "csi-proxy")
	ok(t, os.CopyFS(newer, os.DirFS(chart)))
	file := filepath.Join(newer, "Chart.yaml")
	metadata := regexp.MustCompile(`(?m)^version: .*$`).ReplaceAll(read(t, "charts/csi-proxy/Chart.yaml"),
		[]byte("version: 99.0.0"))
	ok(t, os.WriteFile(file, metadata, 0o600))
	for _, mode := range []string{"daemonset", "service"} {
		var sets []*appsv1.DaemonSet
		for _, from := range []string{chart, newer} {
			out, stderr, err := helm(t, "template", "csi-proxy", from, "--values", filepath.Join(root, required),
				"--set", "mode="+mode)
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr)
			}
			sets = append(sets, daemonSet(t, decode(t, []byte(out))))
		}
		if sets[0].Labels["helm.sh/chart"] == sets[1].Labels["helm.sh/chart"] {
			t.Errorf("%s: the DaemonSet itself has no new label: %v", mode, sets[1].Labels)
		}
		if diff := cmp.Diff(sets[0].Spec.Template, sets[1].Spec.Template); diff != "" {
			t.Errorf("%s: the new chart replaces the pods; template - newer +:\n%s", mode, diff)
		}
	}
}

// The agent itself accepts the flags that the chart gives it.
func TestAgentTakesTheChartsFlags(t *testing.T) {
	agent := filepath.Join(t.TempDir(), "csi-proxy")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", agent, "./cmd/csi-proxy")
	build.Dir, build.Env = root, append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, values := range []string{required, "test/deploy/testdata/chart/everything.values.yaml"} {
		flags := daemonSet(t, decode(t, template(t, values))).Spec.Template.Spec.Containers[0].Args
		flags = append(slices.Clone(flags), "version") // parses the flags, and then says its version
		for i := range flags {
			flags[i] = strings.ReplaceAll(flags[i], "$(HOST_IP)", "192.0.2.1")
		}
		if out, err := exec.CommandContext(t.Context(), agent, flags...).CombinedOutput(); err != nil ||
			!strings.HasPrefix(string(out), "csi-proxy ") {
			t.Errorf("csi-proxy %q: %v\n%s", flags, err, out)
		}
	}
}

// Both modes run the agent with the same flags.
func TestServiceHasTheDaemonSetsFlags(t *testing.T) {
	const values = "test/deploy/testdata/chart/everything.values.yaml"
	pods := daemonSet(t, decode(t, template(t, values))).Spec.Template.Spec
	service := daemonSet(t, decode(t, template(t, values, "--set", "mode=service"))).Spec.Template.Spec
	var got []string
	for _, variable := range service.InitContainers[0].Env {
		if variable.Name == "CSI_PROXY_FLAGS" {
			got = strings.Split(variable.Value, "\n")
		}
	}
	if diff := cmp.Diff(pods.Containers[0].Args, got); diff != "" {
		t.Errorf("flags, daemonset - service +:\n%s", diff)
	}
	hostIP := func(variable corev1.EnvVar) bool { return variable.Name == "HOST_IP" }
	// Kubernetes replaces $(HOST_IP) only if the variable is defined before it.
	if env := service.InitContainers[0].Env; len(env) == 0 || !hostIP(env[0]) {
		t.Errorf("the service's variables are %v, want HOST_IP first", env)
	}
}

// The schema has all existing API groups and versions.
func TestSchemaHasTheAPIs(t *testing.T) {
	var schema struct {
		Properties struct {
			Agent struct {
				Properties struct {
					APIs struct {
						Properties map[string]struct {
							AnyOf []struct{ Items struct{ Enum []string } }
						}
					} `json:"apis"`
				}
			}
		}
	}
	ok(t, json.Unmarshal(read(t, "charts/csi-proxy/values.schema.json"), &schema))
	got := map[string][]string{}
	for group, value := range schema.Properties.Agent.Properties.APIs.Properties {
		for _, choice := range value.AnyOf {
			got[group] = append(got[group], choice.Items.Enum...)
		}
	}
	if diff := cmp.Diff(apis(t), got); diff != "" {
		t.Errorf("API versions, repository - schema +:\n%s", diff)
	}
}
