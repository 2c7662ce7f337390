// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	iscsi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/journal"
)

type idKey struct{}

func newJournal(size int) *journal.Journal {
	return journal.New(size, func(ctx context.Context) string { id, _ := ctx.Value(idKey{}).(string); return id })
}

func flush(j *journal.Journal, object string, err error) error {
	return j.Intercept(context.Background(), kernel.Call{Function: "Flush", Object: object}, func() error { return err })
}

// find returns what a request selects.
func find(t testing.TB, j *journal.Journal, r *nodeapi.ListJournalRequest) *nodeapi.ListJournalResponse {
	t.Helper()
	found, err := j.Find(r)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// numbers returns the sequence numbers of entries.
func numbers(entries []*nodeapi.JournalEntry) (numbers []uint64) {
	for _, e := range entries {
		numbers = append(numbers, e.GetSequence())
	}
	return numbers
}

func TestRing(t *testing.T) {
	for name, test := range map[string]struct {
		calls  int
		after  uint64
		limit  uint32
		want   []uint64
		newest uint64
	}{
		"empty":       {0, 0, 9, nil, 0},
		"part":        {2, 0, 9, []uint64{1, 2}, 2},
		"full":        {3, 0, 9, []uint64{1, 2, 3}, 3},
		"overwritten": {8, 0, 9, []uint64{6, 7, 8}, 8},
		"since":       {3, 1, 9, []uint64{2, 3}, 3},
		"since gone":  {8, 2, 9, []uint64{6, 7, 8}, 8},
		"at the end":  {8, 8, 9, nil, 8},
		"future":      {8, 9, 9, nil, 8},
		"far future":  {8, ^uint64(0), 9, nil, 8},
		"limited":     {8, 0, 2, []uint64{6, 7}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJournal(3)
			for range test.calls {
				_ = flush(j, "x", nil)
			}
			found := find(t, j, &nodeapi.ListJournalRequest{After: test.after, Limit: test.limit})
			if d := cmp.Diff(test.want, numbers(found.GetEntries())); d != "" || found.GetNewest() != test.newest ||
				j.Newest() != test.newest {
				t.Errorf("newest %d and %d, want %d; %s", found.GetNewest(), j.Newest(), test.newest, d)
			}
		})
	}
}

func TestEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(9)
		call := j.BeginAPI("id1", "csi-proxy-disk-v1", "/v1.Disk/GetDiskStats")
		call.Request(&disk.GetDiskStatsRequest{DiskNumber: 7})
		ctx := context.WithValue(t.Context(), idKey{}, "id1")
		failed := &kernel.Error{Function: "DeviceIoControl", Object: `\\?\disk`, Code: win32.ERROR_NOT_READY}
		err := j.Intercept(ctx, kernel.Call{Function: "DeviceIoControl", Object: `\\?\disk`,
			Code: win32.IOCTL_DISK_GET_LENGTH_INFO}, func() error {
			time.Sleep(time.Second) // the bubble's clock
			return failed
		})
		if !errors.Is(err, failed) {
			t.Errorf("got the error %v", err)
		}
		call.End(nil, status.Error(codes.Unavailable, "not now\nsays it"))
		var lines []string
		for _, m := range find(t, j, nil).GetEntries() {
			lines = append(lines, journal.Line(m))
		}
		want := []string{ // the bubble's time begins there
			`00:00:00.000000 #1      id1   DeviceIoControl IOCTL_DISK_GET_LENGTH_INFO \\?\disk failed: the device is not ready (ERROR_NOT_READY, 21) (1s)`,
			`00:00:00.000000 #2      id1 v1.Disk/GetDiskStats {"disk_number":7} Unavailable not now` + "\uFFFD" + `says it (1s)`,
		}
		if d := cmp.Diff(want, lines); d != "" {
			t.Error(d)
		}
	})
}

func TestPanicIsAnEntry(t *testing.T) {
	j := newJournal(3)
	func() {
		defer func() { _ = recover() }()
		_ = j.Intercept(t.Context(), kernel.Call{Function: "Flush"}, func() error { panic("hush") })
	}()
	found := find(t, j, nil)
	if entries := found.GetEntries(); len(entries) != 1 || entries[0].GetKernel().GetError() == "" ||
		len(found.GetRunning()) != 0 {
		t.Errorf("got %v", found)
	}
}

func TestRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(3)
		release := make(chan struct{})
		go func() {
			_ = j.Intercept(t.Context(), kernel.Call{Function: "Flush"}, func() error { <-release; return nil })
		}()
		time.Sleep(time.Minute) // the bubble's clock
		call := j.BeginAPI("id2", "e", "/m")
		call.Request(&disk.GetDiskStatsRequest{DiskNumber: 7})
		var lines []string
		for _, m := range find(t, j, nil).GetRunning() {
			lines = append(lines, journal.Line(m))
		}
		want := []string{"00:00:00.000000 running -   Flush (1m0s)", "00:01:00.000000 running id2 m {\"disk_number\":7} (0s)"}
		if d := cmp.Diff(want, lines); d != "" {
			t.Error(d)
		}
		close(release)
		call.End(nil, nil)
		synctest.Wait()
		if running := find(t, j, nil).GetRunning(); len(running) != 0 {
			t.Errorf("still running: %v", running)
		}
	})
}

func TestWait(t *testing.T) {
	for name, wake := range map[string]func(j *journal.Journal, cancel func()){
		"entry":   func(j *journal.Journal, _ func()) { _ = flush(j, "x", nil) },
		"context": func(_ *journal.Journal, cancel func()) { cancel() },
		"close":   func(j *journal.Journal, _ func()) { j.Close(); j.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJournal(3)
				_ = flush(j, "x", nil)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				j.Wait(ctx, 0)
				var woken atomic.Int32
				for range 2 {
					go func() { j.Wait(ctx, 1); woken.Add(1) }()
					synctest.Wait()
				}
				if woken.Load() != 0 {
					t.Fatal("Wait reported an entry, and there is none")
				}
				wake(j, cancel)
				synctest.Wait()
				if woken.Load() != 2 {
					t.Errorf("%d of 2 were woken", woken.Load())
				}
			})
		})
	}
}

// request returns the journal's text of a request.
func request(t *testing.T, m proto.Message) string {
	t.Helper()
	j := newJournal(1)
	call := j.BeginAPI("id", "e", "/m")
	call.Request(m)
	call.End(nil, nil)
	return find(t, j, nil).GetEntries()[0].GetApi().GetRequest()
}

func TestSecretsAreMasked(t *testing.T) {
	const hush = "hush-hush"
	for name, test := range map[string]struct {
		request proto.Message
		want    string
	}{
		"password": {&smb.NewSmbGlobalMappingRequest{RemotePath: `\\s\t`, Username: "csi", Password: hush},
			`{"remote_path":"\\\\s\\t","username":"csi","password":"[redacted]"}`},
		"chap": {&iscsi.ConnectTargetRequest{ChapUsername: "u", ChapSecret: hush},
			`{"chap_username":"u","chap_secret":"[redacted]"}`},
		"mutual chap": {&iscsi.SetMutualChapSecretRequest{MutualChapSecret: hush}, `{"MutualChapSecret":"[redacted]"}`},
		"nested":      {&nodeapi.AddFaultRequest{Fault: &nodeapi.Fault{Function: "Flush"}}, `{"fault":{"function":"Flush"}}`},
		"document": {&nodeapi.AddRequest{Document: nodeapi.Document("iscsiPortals",
			map[string]any{"address": "a", "targets": []map[string]any{{"username": "u", "mutualSecret": hush}}})},
			`{"document":{"iscsiPortals":[{"address":"a","targets":[{"mutualSecret":"[redacted]","username":"u"}]}]}}`},
		"empty":        {&disk.PartitionDiskRequest{}, "{}"},
		"far too much": {&smb.NewSmbGlobalMappingRequest{RemotePath: strings.Repeat("x", 1<<20)}, "(1048580 bytes)"},
	} {
		got := request(t, test.request)
		if test.want != got {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
	r := &smb.NewSmbGlobalMappingRequest{Password: hush}
	if request(t, r); r.GetPassword() != hush {
		t.Error("the caller's own request was changed")
	}
}

// Whatever bytes a caller sends as a request with a secret, the entry does not show the secret and stays on one line.
func FuzzRequests(f *testing.F) {
	f.Add([]byte("\x0a\x03abc\x12\x04user"), "hush-hush-hush")
	f.Add([]byte("\x92\x03\x09unknown"), "\x00\n\u2028")
	f.Fuzz(func(t *testing.T, wire []byte, secret string) {
		r := &smb.NewSmbGlobalMappingRequest{}
		if proto.Unmarshal(wire, r) != nil {
			return
		}
		r.Password = secret
		j := newJournal(1)
		call := j.BeginAPI("id", "e", "/m")
		call.Request(r)
		call.End(nil, nil)
		m := find(t, j, nil).GetEntries()[0]
		if _, err := proto.Marshal(m); err != nil {
			t.Errorf("the entry cannot be sent: %v", err)
		}
		line := journal.Line(m)
		if strings.ContainsAny(line, "\n\r\x1b") {
			t.Errorf("more than a line: %q", line)
		}
		if len(secret) > 8 && strings.Contains(line, secret) &&
			!strings.Contains(r.GetRemotePath()+r.GetUsername()+r.GetLocalPath(), secret[:1]) {
			t.Errorf("the secret %q is in %q", secret, line)
		}
	})
}
