// SPDX-License-Identifier: Apache-2.0

//go:build unix

package plainfile_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/plainfile"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir) // the names of sockets are short
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile("file", []byte("four"), 0o600))
	must(os.Symlink("file", "link"))
	must(os.Mkdir("dir", 0o700))
	must(syscall.Mkfifo("pipe", 0o600))
	must(os.Symlink("pipe", "link-to-pipe"))
	socket, err := net.Listen("unix", "socket")
	must(err)
	defer socket.Close()
	for _, test := range []struct {
		name  string
		limit int64
		want  error
	}{
		{"file", 4, nil},
		{"file", 3, plainfile.ErrTooLong},
		{"none", 4, fs.ErrNotExist},
		{"link", 4, plainfile.ErrNotRegular},
		{"dir", 4, plainfile.ErrNotRegular},
		{"pipe", 4, plainfile.ErrNotRegular}, // without O_NONBLOCK, it does not end
		{"link-to-pipe", 4, plainfile.ErrNotRegular},
		{"socket", 4, plainfile.ErrNotRegular},
		{"/dev/zero", 4, plainfile.ErrNotRegular},
	} {
		content, err := plainfile.Read(test.name, test.limit)
		if !errors.Is(err, test.want) || (test.want == nil) != (string(content) == "four") {
			t.Errorf("%s, up to %d bytes: got %q, %v, want %v", test.name, test.limit, content, err, test.want)
		}
	}
	if _, err := plainfile.Open(filepath.Join(dir, "pipe"), os.O_RDWR); !errors.Is(err, plainfile.ErrNotRegular) {
		t.Errorf("a pipe to write to: got %v", err)
	}
}
