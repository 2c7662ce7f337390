// SPDX-License-Identifier: Apache-2.0

//go:build linux

package deploy

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
)

// contained runs an image's entry point as a container runtime does with docker run --read-only: in the image's root,
// which is mounted read-only, as the image's user, with volumes where the image has them. $1 is the root, $2 the
// directory of the volumes, $3 the user; the rest is the command. The root must refuse what root itself writes.
const contained = `set -e
root=$1 volumes=$2 user=$3
shift 3
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
for at in node run/csi-proxy; do mount --bind "$volumes/$at" "$root/$at"; done
if touch "$root/written" 2>/dev/null; then echo "the root is not read-only"; exit 1; fi
exec chroot --userspec="$user" "$root" "$@"`

// The image of the agent on an emulated node serves as a user without rights, with a root file system that is
// read-only.
func TestEmulatedImage(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("require root, to mount and to change the user")
	}
	build := exec.CommandContext(t.Context(), "deploy/emulated/build.sh", "files")
	build.Dir, build.Env = root, append(os.Environ(), "ARCHES="+runtime.GOARCH)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// Short: a socket's path must not be longer than 107 bytes. The image's user passes through it.
	dir, err := os.MkdirTemp("", "csi") //nolint:usetesting // t.TempDir has too long a path
	ok(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	image := filepath.Join(dir, "image")
	var user string
	var entry, env, volumes []string
	for _, command := range dockerfile(t, "deploy/emulated/Dockerfile") {
		switch command := command.(type) {
		case *instructions.CopyCommand:
			for _, source := range command.SourcePaths {
				source = filepath.Join(root, "bin", "emulated", strings.ReplaceAll(source, "${TARGETARCH}", runtime.GOARCH))
				sh(t, `mkdir -p "$2"; cp -r "$1" "$2"; if [ -n "$3" ]; then chown -R "$3" "$2"; fi`, source+asContent(source),
					filepath.Join(image, command.DestPath), command.Chown)
			}
		case *instructions.UserCommand:
			user = command.User
		case *instructions.VolumeCommand:
			volumes = append(volumes, command.Volumes...)
		case *instructions.EnvCommand:
			for _, variable := range command.Env {
				env = append(env, variable.String())
			}
		case *instructions.EntrypointCommand:
			entry = command.CmdLine
		}
	}
	if user == "" || strings.HasPrefix(user, "0") || strings.HasPrefix(user, "root") {
		t.Fatalf("the image's user is %q", user)
	}
	// A new volume begins with the content and the owner of the image's directory.
	for _, volume := range volumes {
		sh(t, `mkdir -p "$(dirname "$2")"; cp -a "$1" "$2"`, filepath.Join(image, volume),
			filepath.Join(dir, "volumes", volume))
	}
	sh(t, `chmod 755 "$1"`, dir)

	args := append([]string{"--mount", "bash", "-c", contained, "contained", image, filepath.Join(dir, "volumes"), user},
		entry...)
	container := exec.CommandContext(t.Context(), "unshare", args...)
	container.Env = env
	container.Env = append(container.Env, "PATH="+os.Getenv("PATH")) // chroot looks for the entry point there
	container.Cancel = func() error { return container.Process.Signal(syscall.SIGTERM) }
	var log strings.Builder
	container.Stderr = &log
	stdout, err := container.StdoutPipe()
	ok(t, err)
	ok(t, container.Start())
	t.Cleanup(func() { _ = container.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if line != "ready 24\n" {
		t.Fatalf("the container says %q, %v\n%s", line, err, log.String())
	}
	control := exec.CommandContext(t.Context(), filepath.Join(image, "bin", "csi-proxyctl"), "node", "disk",
		"attach", "--size=1Gi")
	control.Env = []string{"CSI_PROXY_SOCKET_DIR=" + filepath.Join(dir, "volumes", "run", "csi-proxy")}
	if out, err := control.CombinedOutput(); err != nil {
		t.Errorf("from the volume of the sockets: %v\n%s", err, out)
	}
	ok(t, container.Process.Signal(syscall.SIGTERM))
	if err := container.Wait(); err != nil {
		t.Errorf("docker stop: %v\n%s", err, log.String())
	}
}

// asContent is what cp needs behind a directory whose content, not itself, is copied, as COPY does.
func asContent(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return "/."
	}
	return ""
}

func sh(t *testing.T, script string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "bash",
		append([]string{"-euc", script, "sh"}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}
