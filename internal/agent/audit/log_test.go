// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"k8s.io/klog/v2/textlogger"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/audit"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func failure(code codes.Code, reason, message string) error {
	s, err := status.New(code, message).WithDetails(&errdetails.ErrorInfo{Domain: "csi-proxy", Reason: reason})
	if err != nil {
		return err
	}
	return s.Err()
}

// The lines are a contract with their readers: names, order and forms are compared byte for byte.
func TestLines(t *testing.T) {
	var file bytes.Buffer
	root, user := 0, 1000
	synctest.Test(t, func(*testing.T) { // whose clock begins at midnight UTC, 1 January 2000
		l := audit.New(&file, textlogger.NewLogger(textlogger.NewConfig()))
		for i, call := range []struct {
			endpoint, method string
			client           transport.Peer
			request          proto.Message
			took             time.Duration
			err              error
		}{
			{"csi-proxy-disk-v1", "/v1.Disk/ListDiskIDs", transport.Peer{PID: 4711, Image: `C:\Program Files\driver\driver.exe`},
				&disk.ListDiskIDsRequest{}, 1234567 * time.Nanosecond, nil},
			{"csi-proxy-disk-v1", "/v1.Disk/PartitionDisk", transport.Peer{PID: 4711},
				&disk.PartitionDiskRequest{DiskNumber: 3}, 2 * time.Second,
				failure(codes.FailedPrecondition, "DISK_NOT_BLANK", `disk 3 holds "data"`)},
			{"csi-proxy-smb-v1", "/v1.Smb/NewSmbGlobalMapping", transport.Peer{PID: 12, UID: &root},
				&smb.NewSmbGlobalMappingRequest{RemotePath: `\\fs\share`, Username: "u", Password: "hush-hush"}, 0, nil},
			{"csi-proxy-filesystem-v1", "/v1.Filesystem/PathExists", transport.Peer{PID: 12, UID: &user},
				&filesystem.PathExistsRequest{Path: strings.Repeat("x", 5000)}, 0, failure(codes.InvalidArgument, "INVALID_PATH",
					strings.Repeat("ü", 600))},
			{"csi-proxy-filesystem-v1", "/v1.Filesystem/PathExists", transport.Peer{InProcess: true}, nil, 0,
				failure(codes.InvalidArgument, "MALFORMED_REQUEST", "no message")},
			{"csi-proxy-filesystem-v1", "/v1.Filesystem/PathExists", transport.Peer{PID: 1, Image: "C:\\a\"b\n\xff<>.exe"},
				&filesystem.PathExistsRequest{Path: "C:\\a\"\n{},\u2028"}, 0, nil},
			{"csi-proxy-filesystem-v1", "/v1.Filesystem/PathExists", transport.Peer{PID: 1, Image: "C:\\\u202Eexe.a"},
				&filesystem.PathExistsRequest{Path: "C:\\ü\u007F\u009B2J\u202E\U000E0001"}, 0,
				failure(codes.InvalidArgument, "INVALID_PATH", "\u009Bno")},
		} {
			r := l.Record(server.CallInfo{RequestID: strings.Repeat("0", 15) + string(rune('1'+i)), Endpoint: call.endpoint,
				Method: call.method, Client: call.client})
			if call.request != nil {
				r.Request(call.request)
			}
			time.Sleep(call.took)
			r.End(nil, call.err)
		}
		file.WriteString(audit.Lost(17, errors.New("the disk is \"full\"")))
	})
	golden := filepath.Join("testdata", "lines.jsonl")
	if *update {
		if err := os.WriteFile(golden, file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), file.String()); d != "" {
		t.Errorf("lines differ (-want +got):\n%s", d)
	}
	for text := range strings.Lines(file.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Errorf("%v: %s", err, text)
		}
	}
	if strings.Contains(file.String(), "hush-hush") {
		t.Error("a password is in the log")
	}
}

// full is a full disk.
type full struct {
	room bool
	text strings.Builder
}

func (f *full) Write(p []byte) (int, error) {
	if !f.room {
		return 0, errors.New("no room")
	}
	return f.text.Write(p)
}

func TestCallsGoOnWithoutTheLog(t *testing.T) {
	var lines strings.Builder
	file := &full{}
	l := audit.New(file, textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&lines))))
	end := func() { l.Record(server.CallInfo{Method: "/v1.Disk/Rescan"}).End(nil, nil) }
	for _, room := range []bool{false, false, true, false} {
		file.room = room
		end()
	}
	if got := strings.Count(lines.String(), "cannot be written"); got != 2 {
		t.Errorf("the operator was told %d times, want once for each time that the log fails:\n%s", got, lines.String())
	}
	if got := strings.Count(file.text.String(), "\n"); got != 1 {
		t.Errorf("got %d lines, want 1", got)
	}
}
