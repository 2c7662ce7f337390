// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPipeName(t *testing.T) {
	tests := []struct {
		target string
		want   string
		wantOK bool
	}{
		{`\\.\pipe\csi-proxy-disk-v1`, "csi-proxy-disk-v1", true},
		{`\\.\\pipe\\csi-proxy-disk-v1`, "csi-proxy-disk-v1", true},
		{`\\\\.\\pipe\\csi-proxy-disk-v1`, "csi-proxy-disk-v1", true},
		{`//./pipe/csi-proxy-disk-v1`, "csi-proxy-disk-v1", true},
		{`/\.\/pipe//x`, "x", true},
		{`\\.\PIPE\Mixed-Case`, "Mixed-Case", true},
		{`\\.\pipe\dir\x`, `dir\x`, true},
		{`\\.\pipe\`, "", false},
		{`\\.\pipe`, "", false},
		{`\\.\pipes\x`, "", false},
		{`\\.pipe\x`, "", false},
		{`\.\pipe\x`, "", false},
		{`\\server\pipe\x`, "", false},
		{`\\?\pipe\x`, "", false},
		{`/run/x.sock`, "", false},
		{`x`, "", false},
		{``, "", false},
	}
	for _, tt := range tests {
		got, ok := pipeName(tt.target)
		if got != tt.want && tt.wantOK || ok != tt.wantOK {
			t.Errorf("pipeName(%q) = %q, %v, want %q, %v", tt.target, got, ok, tt.want, tt.wantOK)
		}
	}
}

func FuzzPipeName(f *testing.F) {
	for _, seed := range []string{`\\.\pipe\x`, `\\.\\pipe\\x`, `//./PIPE/x`, `\\.\pipe\`, `\\.`,
		``, "\\\\.\\pipe\\\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, target string) {
		name, ok := pipeName(target)
		if !ok {
			return
		}
		if name == "" || !strings.HasSuffix(target, name) {
			t.Fatalf("pipeName(%q) = %q, want the end of the target", target, name)
		}
		if again, ok := pipeName(plainPipe(name)); !ok || again != name {
			t.Errorf("pipeName(plainPipe(%q)) = %q, %v, want the same name", name, again, ok)
		}
	})
}

func TestLocateSocket(t *testing.T) {
	const fromEnvironment = "/env/dir"
	tests := []struct {
		name      string
		target    string
		socketDir string
		unset     bool
		want      endpoint
		wantError []string
	}{
		{
			name: "pipe in the directory of the environment", target: `\\.\\pipe\\csi-proxy-disk-v1`,
			want: endpoint{`\\.\pipe\csi-proxy-disk-v1`, filepath.FromSlash(fromEnvironment + "/csi-proxy-disk-v1.sock")},
		},
		{
			name: "option before environment", target: `//./Pipe/x`, socketDir: "/option",
			want: endpoint{`\\.\pipe\x`, filepath.FromSlash("/option/x.sock")},
		},
		{
			name: "option without environment", target: `\\.\pipe\x`, socketDir: "/option", unset: true,
			want: endpoint{`\\.\pipe\x`, filepath.FromSlash("/option/x.sock")},
		},
		{name: "path", target: "/run/agent.sock", unset: true, want: endpoint{"/run/agent.sock", "/run/agent.sock"}},
		{name: "no directory", target: `\\.\\pipe\\x`, unset: true, wantError: []string{SocketDirVariable, `\\.\pipe\x`}},
		{name: "name that leaves the directory", target: `\\.\pipe\..\x`, wantError: []string{"separators"}},
		{name: "name with a slash", target: `\\.\pipe\../x`, wantError: []string{"separators"}},
		{name: "name with a zero byte", target: "\\\\.\\pipe\\x\x00", wantError: []string{"separators"}},
		{name: "relative path", target: "agent.sock", wantError: []string{`"agent.sock"`, "absolute path"}},
		{name: "pipe of another machine", target: `\\server\pipe\x`, wantError: []string{"absolute path"}},
		{name: "empty", target: "", wantError: []string{`""`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(SocketDirVariable, fromEnvironment)
			if tt.unset {
				t.Setenv(SocketDirVariable, "")
			}
			got, err := locateSocket(tt.target, tt.socketDir)
			checkLocated(t, got, err, tt.want, tt.wantError)
		})
	}
}

func TestLocatePipe(t *testing.T) {
	tests := []struct {
		name      string
		target    string
		want      endpoint
		wantError []string
	}{
		{
			name: "spelling of drivers", target: `\\.\\pipe\\csi-proxy-disk-v1`,
			want: endpoint{`\\.\pipe\csi-proxy-disk-v1`, `\\.\pipe\csi-proxy-disk-v1`},
		},
		{name: "slashes", target: `//./pipe/x`, want: endpoint{`\\.\pipe\x`, `\\.\pipe\x`}},
		{name: "pipe of another machine", target: `\\server\pipe\x`, want: endpoint{`\\server\pipe\x`, `\\server\pipe\x`}},
		{name: "empty", target: "", wantError: []string{"empty"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := locatePipe(tt.target)
			checkLocated(t, got, err, tt.want, tt.wantError)
		})
	}
}

func checkLocated(t *testing.T, got endpoint, err error, want endpoint, wantError []string) {
	t.Helper()
	if (err != nil) != (wantError != nil) {
		t.Fatalf("error = %v, want one with %q", err, wantError)
	}
	for _, text := range wantError {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error = %q, want it to contain %q", err, text)
		}
	}
	if diff := cmp.Diff(got, want, cmp.AllowUnexported(endpoint{})); diff != "" {
		t.Errorf("endpoint (-got +want):\n%s", diff)
	}
}
