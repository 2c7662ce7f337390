// SPDX-License-Identifier: Apache-2.0

package csiproxy_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	filesystemv1beta1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1beta1"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	smbapi "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	smbv1beta1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1beta1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// socketDir returns a directory for the sockets of fake agents.
func socketDir(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the fake agents of this test listen on unix sockets")
	}
	dir, err := os.MkdirTemp("", "csi") //nolint:usetesting // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// serve makes a gRPC server listen on the sockets of the given endpoints, and returns a client of them.
func serve(t *testing.T, endpoints map[string]func(*grpc.Server)) *csiproxy.Client {
	t.Helper()
	dir := socketDir(t)
	for name, register := range endpoints {
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		s := grpc.NewServer()
		register(s)
		go func() { _ = s.Serve(l) }()
		t.Cleanup(s.Stop)
	}
	c := csiproxy.New(csiproxy.Options{PipePath: func(group string, v apiversion.Version) string {
		return filepath.Join(dir, group+"-"+v.String())
	}})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestStartingAgent: a call that meets the endpoint of an old version, because an agent that starts has not opened the
// others yet, uses the newer one that comes a moment later.
func TestStartingAgent(t *testing.T) {
	dir := socketDir(t)
	s := grpc.NewServer()
	t.Cleanup(s.Stop)
	diskv1.RegisterDiskServer(s, newDisks{})
	listen := func(endpoint string) {
		l, err := net.Listen("unix", filepath.Join(dir, endpoint))
		if err != nil {
			t.Error(err)
			return
		}
		go func() { _ = s.Serve(l) }()
	}
	listen("disk-v1alpha1")
	late := sync.OnceFunc(func() { listen("disk-v1") })
	var looks atomic.Int32
	c := csiproxy.New(csiproxy.Options{PipePath: func(group string, v apiversion.Version) string {
		// not there when the client connects, nor when it looks again
		if group == "disk" && v.String() == "v1" && looks.Add(1) == 3 {
			late()
		}
		return filepath.Join(dir, group+"-"+v.String())
	}})
	t.Cleanup(func() { _ = c.Close() })
	if _, err := c.Disk.ListDiskIDs(t.Context(), &diskv1.ListDiskIDsRequest{}); err != nil {
		t.Fatalf("the call fails: %v", err)
	}
	if looks.Load() < 3 {
		t.Errorf("the newest version was looked for %d times, so the old one was never used", looks.Load())
	}
}

// newDisks serves the newest version.
type newDisks struct{ diskv1.UnimplementedDiskServer }

func (newDisks) ListDiskIDs(context.Context, *diskv1.ListDiskIDsRequest) (*diskv1.ListDiskIDsResponse, error) {
	return &diskv1.ListDiskIDsResponse{}, nil
}

// inBandAgent reports failures in its responses, as agents before v1.0 did.
type inBandAgent struct {
	filesystemv1beta1.UnimplementedFilesystemServer
	smbv1beta1.UnimplementedSmbServer
}

func (inBandAgent) PathExists(context.Context,
	*filesystemv1beta1.PathExistsRequest) (*filesystemv1beta1.PathExistsResponse, error) {
	return &filesystemv1beta1.PathExistsResponse{Error: "cannot look"}, nil
}

func (inBandAgent) Mkdir(_ context.Context, r *filesystemv1beta1.MkdirRequest) (*filesystemv1beta1.MkdirResponse,
	error) {
	if r.GetPath() == "good" {
		return &filesystemv1beta1.MkdirResponse{}, nil
	}
	return &filesystemv1beta1.MkdirResponse{Error: "path is not within the working directories"}, nil
}

func (inBandAgent) NewSmbGlobalMapping( //nolint:revive // the service has this name
	context.Context, *smbv1beta1.NewSmbGlobalMappingRequest) (*smbv1beta1.NewSmbGlobalMappingResponse, error) {
	return &smbv1beta1.NewSmbGlobalMappingResponse{Error: "cannot map"}, nil
}

// TestInBandErrors: a failure that an old agent puts in its response is an error, with or without a mapping.
func TestInBandErrors(t *testing.T) {
	c := serve(t, map[string]func(*grpc.Server){
		"filesystem-v1beta1": func(s *grpc.Server) { filesystemv1beta1.RegisterFilesystemServer(s, inBandAgent{}) },
		"smb-v1beta1":        func(s *grpc.Server) { smbv1beta1.RegisterSmbServer(s, inBandAgent{}) },
	})
	tests := []struct {
		name string
		call func() error
		want string
	}{
		{"mapped", func() error {
			_, err := c.Filesystem.PathExists(t.Context(), &filesystemapi.PathExistsRequest{})
			return err
		}, "filesystem v1beta1 PathExists: cannot look"},
		{"extra field", func() error {
			_, err := c.Filesystem.Mkdir(t.Context(), &filesystemapi.MkdirRequest{})
			return err
		}, "filesystem v1beta1 Mkdir: path is not within the working directories"},
		{"extra field of smb", func() error {
			_, err := c.SMB.NewSmbGlobalMapping(t.Context(), &smbapi.NewSmbGlobalMappingRequest{})
			return err
		}, "smb v1beta1 NewSmbGlobalMapping: cannot map"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.call(); err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := c.Filesystem.Mkdir(t.Context(), &filesystemapi.MkdirRequest{Path: "good"}); err != nil {
		t.Errorf("a success of an old agent: %v", err)
	}
	if _, err := c.Filesystem.Mkdir(t.Context(), &filesystemapi.MkdirRequest{}); !errors.Is(err,
		csiproxy.ErrOutsideWorkingDirs) {
		t.Errorf("%v is not ErrOutsideWorkingDirs", err)
	}
}

// TestTextsOfOldAgents: a driver learns that nothing is mounted also from an agent without codes and reasons.
func TestTextsOfOldAgents(t *testing.T) {
	tests := []struct {
		text string
		want bool
	}{
		{`error getting the volume for the mount c:\x, internal error: cannot find path 'c:\x' because it does not exist.`,
			true},
		{"the disk is on fire", false},
	}
	for _, tt := range tests {
		c := csiproxy.Over(failing{status.Error(codes.Unknown, tt.text)})
		_, err := c.Volume.GetVolumeIDFromTargetPath(t.Context(), &volumeapi.GetVolumeIDFromTargetPathRequest{})
		if got := errors.Is(err, csiproxy.ErrNotMounted); got != tt.want || status.Code(err) != codes.Unknown {
			t.Errorf("%v: ErrNotMounted %v, code %v, want %v and Unknown", err, got, status.Code(err), tt.want)
		}
	}
}

// dyingAgent breaks the connection in the middle of its first calls.
type dyingAgent struct {
	filesystemv1.UnimplementedFilesystemServer
	die    func()
	deaths int32
	calls  atomic.Int32
}

func (a *dyingAgent) Rmdir(ctx context.Context, _ *filesystemv1.RmdirRequest) (*filesystemv1.RmdirResponse, error) {
	if a.calls.Add(1) <= a.deaths {
		a.die()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &filesystemv1.RmdirResponse{}, nil
}

// breakable is a listener whose connections can be broken.
type breakable struct {
	net.Listener
	last atomic.Pointer[net.Conn]
}

func (b *breakable) Accept() (net.Conn, error) {
	c, err := b.Listener.Accept()
	if err == nil {
		b.last.Store(&c)
	}
	return c, err
}

// startDying starts an agent that breaks the connection of so many calls.
func startDying(t *testing.T, deaths int32) (*dyingAgent, *csiproxy.Client) {
	t.Helper()
	socket := filepath.Join(socketDir(t), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	listener := &breakable{Listener: l}
	agent := &dyingAgent{deaths: deaths, die: func() { _ = (*listener.last.Load()).Close() }}
	s := grpc.NewServer()
	filesystemv1.RegisterFilesystemServer(s, agent)
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(s.Stop)
	c := csiproxy.New(csiproxy.Options{PipePath: func(group string, v apiversion.Version) string {
		if group == "filesystem" && v.String() == "v1" {
			return socket
		}
		return socket + "-of-none"
	}})
	t.Cleanup(func() { _ = c.Close() })
	return agent, c
}

// TestBrokenConnection: a call whose answer is lost is repeated, except for the one that is not idempotent. A call that
// may be what kills the agent is repeated once, not until the agent is served no more.
func TestBrokenConnection(t *testing.T) {
	for _, test := range []struct {
		deaths, calls int32
		force         bool
		code          codes.Code
	}{{1, 2, true, codes.OK}, {1, 1, false, codes.Unavailable}, {5, 2, true, codes.Unavailable}} {
		agent, c := startDying(t, test.deaths)
		_, err := c.Filesystem.Rmdir(t.Context(), &filesystemapi.RmdirRequest{Force: test.force})
		if status.Code(err) != test.code || agent.calls.Load() != test.calls {
			t.Errorf("%+v: %v after %d calls", test, err, agent.calls.Load())
		}
	}
}

// refusingAgent has no time.
type refusingAgent struct {
	filesystemv1.UnimplementedFilesystemServer
	calls atomic.Int32
}

func (a *refusingAgent) Rmdir(context.Context, *filesystemv1.RmdirRequest) (*filesystemv1.RmdirResponse, error) {
	a.calls.Add(1)
	refusal, err := status.New(codes.Unavailable, "the disk does not answer").WithDetails(
		&errdetails.ErrorInfo{Domain: "csi-proxy", Reason: "NOT_ANSWERING"})
	if err != nil {
		return nil, err
	}
	return nil, refusal.Err()
}

// TestRefusalIsNotRepeated: an agent that is there and refuses a call for now is asked again by the driver, in the
// driver's own time.
func TestRefusalIsNotRepeated(t *testing.T) {
	agent := &refusingAgent{}
	c := serve(t, map[string]func(*grpc.Server){
		"filesystem-v1": func(s *grpc.Server) { filesystemv1.RegisterFilesystemServer(s, agent) },
	})
	_, err := c.Filesystem.Rmdir(t.Context(), &filesystemapi.RmdirRequest{Force: true})
	if status.Code(err) != codes.Unavailable || agent.calls.Load() != 1 {
		t.Errorf("%v after %d calls, want Unavailable after 1", err, agent.calls.Load())
	}
}

// TestMissingAgentFailsAtOnce: only an agent that was there is waited for.
func TestMissingAgentFailsAtOnce(t *testing.T) {
	c := serve(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := c.Filesystem.Rmdir(ctx, &filesystemapi.RmdirRequest{})
	if !errors.Is(err, csiproxy.ErrNoAgent) || status.Code(err) != codes.Unavailable {
		t.Errorf("%v, want %v with the code Unavailable", err, csiproxy.ErrNoAgent)
	}
}

// TestReasons: the failures of a present agent can be distinguished, through any connection.
func TestReasons(t *testing.T) {
	failure, err := status.New(codes.NotFound, "disk 7 is not present").WithDetails(
		&errdetails.ErrorInfo{Domain: "csi-proxy", Reason: "DISK_NOT_FOUND", Metadata: map[string]string{"win32": "2"}})
	if err != nil {
		t.Fatal(err)
	}
	c := csiproxy.Over(failing{failure.Err()})
	_, err = c.Volume.GetVolumeStats(t.Context(), &volumeapi.GetVolumeStatsRequest{})
	var e *csiproxy.Error
	if !errors.As(err, &e) || e.Reason != "DISK_NOT_FOUND" || e.Win32 != 2 || e.Code != codes.NotFound ||
		e.Version != "v2alpha1" {
		t.Errorf("the error is %#v", err)
	}
	if !errors.Is(err, csiproxy.ErrDiskNotFound) || errors.Is(err, csiproxy.ErrNotMounted) {
		t.Errorf("%v is not ErrDiskNotFound, or also ErrNotMounted", err)
	}
	if s, _ := status.FromError(err); s.Code() != codes.NotFound || len(s.Details()) != 1 {
		t.Errorf("the status is %v", s)
	}
}

// failing is a connection whose calls all fail.
type failing struct{ err error }

func (f failing) Invoke(context.Context, string, any, any, ...grpc.CallOption) error { return f.err }

func (f failing) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, f.err
}

// TestContextErrors: a call that ended with its context has the context's error, also if the agent reported it.
func TestContextErrors(t *testing.T) {
	for code, want := range map[codes.Code]error{codes.DeadlineExceeded: context.DeadlineExceeded,
		codes.Canceled: context.Canceled} {
		c := csiproxy.Over(failing{status.Error(code, "it is over")})
		_, err := c.Volume.GetVolumeStats(t.Context(), &volumeapi.GetVolumeStatsRequest{})
		if !errors.Is(err, want) || errors.Is(err, csiproxy.ErrNotMounted) {
			t.Errorf("%v is not %v", err, want)
		}
	}
}
