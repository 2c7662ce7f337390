// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"

	api "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func info(t *testing.T, err error) *errdetails.ErrorInfo {
	t.Helper()
	for _, detail := range status.Convert(err).Details() {
		if i, ok := detail.(*errdetails.ErrorInfo); ok {
			return i
		}
	}
	t.Fatalf("no ErrorInfo in %v", err)
	return nil
}

func TestErrorsOnTheWire(t *testing.T) {
	call := &kernel.Error{Function: "CreateFileW", Object: `C:\x`, Code: win32.ERROR_ACCESS_DENIED}
	type answer struct {
		Code     codes.Code
		Message  string
		Domain   string
		Reason   string
		Metadata map[string]string
	}
	for _, test := range []struct {
		name string
		err  error
		want answer
	}{
		{
			name: "with a Win32 code",
			err: &errdefs.Error{Class: errdefs.PermissionDenied, Reason: "DENIED", Message: "no",
				Err: fmt.Errorf("wrapped: %w", call)},
			want: answer{codes.PermissionDenied, "no", "csi-proxy", "DENIED",
				map[string]string{"win32": "5", "function": "CreateFileW"}},
		},
		{
			name: "without",
			err:  fmt.Errorf("outer: %w", &errdefs.Error{Class: errdefs.FailedPrecondition, Reason: "BUSY", Message: "inner"}),
			want: answer{codes.FailedPrecondition, "outer: inner", "csi-proxy", "BUSY", nil},
		},
		{name: "an unclassified kernel error", err: call,
			want: answer{codes.Internal, call.Error(), "csi-proxy", "INTERNAL",
				map[string]string{"win32": "5", "function": "CreateFileW"}}},
		{name: "a deadline", err: context.DeadlineExceeded, want: answer{codes.DeadlineExceeded, "context deadline exceeded",
			"csi-proxy", "DEADLINE_EXCEEDED", nil}},
		{name: "a text with a large request", err: errors.New(strings.Repeat("x", 1<<20)),
			want: answer{codes.Internal, strings.Repeat("x", 4096) + "…", "csi-proxy", "INTERNAL", nil}},
		{name: "invalid UTF-8", err: errors.New("a\xffb"),
			want: answer{codes.Internal, "a\uFFFDb", "csi-proxy", "INTERNAL", nil}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := start(t, func(context.Context, string) (bool, error) { return true, test.err })
			_, err := f.client.PathExists(t.Context(), &api.PathExistsRequest{})
			i := info(t, err)
			got := answer{status.Code(err), status.Convert(err).Message(), i.GetDomain(), i.GetReason(), i.GetMetadata()}
			if diff := cmp.Diff(got, test.want); diff != "" {
				t.Errorf("answer differs (-got +want):\n%s", diff)
			}
		})
	}
}

func TestEveryClassHasItsCode(t *testing.T) {
	for class, want := range map[errdefs.Class]codes.Code{
		errdefs.Internal: codes.Internal, errdefs.InvalidArgument: codes.InvalidArgument, errdefs.NotFound: codes.NotFound,
		errdefs.AlreadyExists: codes.AlreadyExists, errdefs.PermissionDenied: codes.PermissionDenied,
		errdefs.Unauthenticated:    codes.Unauthenticated,
		errdefs.FailedPrecondition: codes.FailedPrecondition, errdefs.OutOfRange: codes.OutOfRange,
		errdefs.ResourceExhausted: codes.ResourceExhausted,
		errdefs.Unavailable:       codes.Unavailable, errdefs.Unsupported: codes.Unimplemented,
		errdefs.DeadlineExceeded: codes.DeadlineExceeded,
		errdefs.DataLoss:         codes.DataLoss, errdefs.Canceled: codes.Canceled,
	} {
		f := start(t, func(context.Context, string) (bool, error) { return false, &errdefs.Error{Class: class, Message: "x"} })
		if _, err := f.client.PathExists(t.Context(), &api.PathExistsRequest{}); status.Code(err) != want {
			t.Errorf("class %d: got %v, want %v", class, status.Code(err), want)
		}
	}
}

func TestPanicEndsOneCall(t *testing.T) {
	f := start(t, func(_ context.Context, path string) (bool, error) {
		if path == "secret" {
			panic("a text with the secret in it")
		}
		return true, nil
	})
	_, err := f.client.PathExists(t.Context(), &api.PathExistsRequest{Path: "secret"})
	if status.Code(err) != codes.Internal || info(t, err).GetReason() != "PANIC" {
		t.Errorf("got %v, want Internal with the reason PANIC", err)
	}
	if r, err := f.client.PathExists(t.Context(), &api.PathExistsRequest{}); err != nil || !r.GetExists() {
		t.Errorf("the next call: got %v, %v", r, err)
	}
	log := f.log.String()
	if !strings.Contains(log, "TestPanicEndsOneCall") {
		t.Errorf("the log does not say where the panic was:\n%s", log)
	}
	if strings.Contains(log, "secret") {
		t.Errorf("the log has the caller's argument:\n%s", log)
	}
}

func TestRequestIDLeadsToTheLog(t *testing.T) {
	f := start(t, func(ctx context.Context, path string) (bool, error) {
		klog.FromContext(ctx).Info("inside")
		if path == "" {
			return false, nil
		}
		return false, &errdefs.Error{Class: errdefs.NotFound, Reason: "X", Message: "no such thing"}
	})
	ids := map[string]bool{}
	for _, path := range []string{"", "fails"} {
		var header metadata.MD
		forged := metadata.AppendToOutgoingContext(t.Context(), "x-request-id", "forged")
		_, _ = f.client.PathExists(forged, &api.PathExistsRequest{Path: path}, grpc.Header(&header))
		id := strings.Join(header.Get("x-request-id"), ",")
		if !regexp.MustCompile("^[0-9a-f]{16}$").MatchString(id) || ids[id] {
			t.Fatalf("got the request id %q", id)
		}
		ids[id] = true
	}
	failures := 0
	for line := range strings.Lines(f.log.String()) {
		known := false
		for id := range ids {
			known = known || strings.Contains(line, id)
		}
		if !known {
			t.Errorf("a line without request id: %s", line)
		}
		if strings.Contains(line, "left out") {
			t.Errorf("no line was left out of the log: %s", line)
		}
		if strings.Contains(line, "call failed") {
			failures++
			for _, part := range []string{`method="/v1.Filesystem/PathExists"`, `endpoint="csi-proxy-filesystem-v1"`,
				"duration=", `code="NotFound"`, `err="no such thing"`} {
				if !strings.Contains(line, part) {
					t.Errorf("no %s in the line of the failed call: %s", part, line)
				}
			}
		}
	}
	if failures != 1 {
		t.Errorf("got %d lines of the failed call, want 1", failures)
	}
}

func TestDeadlines(t *testing.T) {
	seen := make(chan time.Duration, 1)
	f := start(t, func(ctx context.Context, _ string) (bool, error) {
		deadline, ok := ctx.Deadline()
		if !ok {
			return false, errors.New("no deadline")
		}
		seen <- time.Until(deadline)
		return true, nil
	})
	for _, test := range []struct {
		name   string
		caller time.Duration // 0: none
		most   time.Duration
	}{
		{name: "the method's own", most: node.LimitRead},
		{name: "the caller's shorter one", caller: node.LimitRead / 2, most: node.LimitRead / 2},
		{name: "not the caller's longer one", caller: node.LimitRead * 4, most: node.LimitRead},
	} {
		ctx, cancel := t.Context(), func() {}
		if test.caller > 0 {
			ctx, cancel = context.WithTimeout(ctx, test.caller)
		}
		if _, err := f.client.PathExists(ctx, &api.PathExistsRequest{}); err != nil {
			t.Fatal(err)
		}
		cancel()
		if left := <-seen; left > test.most {
			t.Errorf("%s: got a deadline %v away, want at most %v", test.name, left, test.most)
		}
	}
}

// An answered call leaves no deadline behind, nor the timer of one: its context has ended before that.
func TestDeadlineEndsWithTheCall(t *testing.T) {
	seen := make(chan context.Context, 1)
	f := start(t, func(ctx context.Context, _ string) (bool, error) {
		stream, ok := grpc.ServerTransportStreamFromContext(ctx).(interface{ Context() context.Context })
		if !ok {
			return false, errors.New("no stream")
		}
		seen <- stream.Context()
		return true, nil
	})
	if _, err := f.client.PathExists(t.Context(), &api.PathExistsRequest{}); err != nil {
		t.Fatal(err)
	}
	call := <-seen
	if <-call.Done(); !errors.Is(call.Err(), context.Canceled) {
		t.Errorf("the context of the call ended with %v, want %v", call.Err(), context.Canceled)
	}
}

func TestSizeLimits(t *testing.T) {
	f := start(t, func(_ context.Context, path string) (bool, error) {
		return false, &errdefs.Error{Class: errdefs.InvalidArgument, Reason: "LONG", Message: fmt.Sprint(len(path), path)}
	})
	_, err := f.client.PathExists(t.Context(), &api.PathExistsRequest{Path: strings.Repeat("x", 32<<10)})
	if status.Code(err) != codes.InvalidArgument || info(t, err).GetReason() != "LONG" {
		t.Errorf("32 KiB: got %v", status.Code(err))
	}
	_, err = f.client.PathExists(t.Context(), &api.PathExistsRequest{Path: strings.Repeat("x", 5<<20)})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("5 MiB: got %v", status.Code(err))
	}
}

// raw is a codec for bytes that are not a message.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error)      { return v.([]byte), nil }
func (raw) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }
func (raw) Name() string                       { return "proto" }

func TestMalformedRequest(t *testing.T) {
	f := start(t, found)
	var answer []byte
	err := f.conn.Invoke(t.Context(), "/v1.Filesystem/PathExists", []byte("\x0a\x02\xff\xfe"), &answer,
		grpc.ForceCodec(raw{}))
	if status.Code(err) != codes.InvalidArgument || info(t, err).GetReason() != "MALFORMED_REQUEST" {
		t.Errorf("got %v, want InvalidArgument with the reason MALFORMED_REQUEST", err)
	}
	f.stop(t) // gRPC answers before the handler is done
	if log := f.log.String(); !strings.Contains(log, "call failed") || regexp.MustCompile("(?m)^E").MatchString(log) {
		t.Errorf("the failure is not in the log, or is logged as the agent's own:\n%s", log)
	}
}
