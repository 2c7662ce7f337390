// SPDX-License-Identifier: Apache-2.0

// Package bench has the agent's benchmarks: its costs on an emulated node and, on Windows and Wine, a program's.
package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	iscsi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	steps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

func TestMain(m *testing.M) { os.Exit(testnode.Main(m)) }

// diskBytes is the size of each disk; the images are sparse.
const diskBytes = 64 << 20

// plugins is a directory in which the agent works, and staged is where kubelet has a volume of a driver staged.
const (
	plugins = node.KubeletDir + `\plugins`
	driver  = plugins + `\kubernetes.io\csi\bench.example`
	staged  = driver + `\2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae\globalmount`
)

// callers is how many callers call at once, apart from the runs with one.
const callers = 64

// A read is a call that changes nothing.
type read struct {
	group, version, service, method string
	request, response               proto.Message
}

func (r read) call(ctx context.Context, conn *grpc.ClientConn) error {
	return conn.Invoke(ctx, "/"+r.service+"/"+r.method, r.request, r.response.ProtoReflect().New().Interface())
}

// echoed returns an echo call whose request and response together are as long as those of a read.
func echoed(r read) read {
	const overhead = 2 // tag and length of the field
	message := wrapperspb.Bytes(make([]byte, max((proto.Size(r.request)+proto.Size(r.response))/2-overhead, 0)))
	return read{service: "bench.Echo", method: "Echo", request: message, response: message}
}

// openEcho returns the address of a gRPC server without options or interceptors that sends back what it gets. It is in
// this process, on a socket or pipe that is opened as the agent opens its own.
func openEcho(t testing.TB) string {
	t.Helper()
	place, err := transport.Open(transport.Options{SocketDir: testnode.ShortDir(t), PipePrefix: "bench-", OwnUser: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = place.Close() })
	const name = "csi-proxy-echo"
	l, err := place.Listen(name, false)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	s.RegisterService(&grpc.ServiceDesc{ServiceName: "bench.Echo", Methods: []grpc.MethodDesc{{
		MethodName: "Echo",
		Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			message := new(wrapperspb.BytesValue)
			return message, decode(message)
		},
	}}}, nil)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return place.Path(name)
}

// reads returns the read-only methods, about a disk whose volume is mounted.
func reads(number uint32, id string) []read {
	return []read{
		{"disk", "v1", "v1.Disk", "ListDiskIDs", &disk.ListDiskIDsRequest{}, &disk.ListDiskIDsResponse{}},
		{"disk", "v1", "v1.Disk", "GetDiskStats", &disk.GetDiskStatsRequest{DiskNumber: number},
			&disk.GetDiskStatsResponse{}},
		{"disk", "v1", "v1.Disk", "GetDiskState", &disk.GetDiskStateRequest{DiskNumber: number},
			&disk.GetDiskStateResponse{}},
		{"filesystem", "v1", "v1.Filesystem", "PathExists", &filesystem.PathExistsRequest{Path: staged},
			&filesystem.PathExistsResponse{}},
		{"filesystem", "v1", "v1.Filesystem", "IsSymlink", &filesystem.IsSymlinkRequest{Path: staged},
			&filesystem.IsSymlinkResponse{}},
		{"volume", "v1", "v1.Volume", "ListVolumesOnDisk", &volume.ListVolumesOnDiskRequest{DiskNumber: number},
			&volume.ListVolumesOnDiskResponse{}},
		{"volume", "v1", "v1.Volume", "GetVolumeIDFromTargetPath",
			&volume.GetVolumeIDFromTargetPathRequest{TargetPath: staged},
			&volume.GetVolumeIDFromTargetPathResponse{}},
		{"volume", "v1", "v1.Volume", "IsVolumeFormatted", &volume.IsVolumeFormattedRequest{VolumeId: id},
			&volume.IsVolumeFormattedResponse{}},
		{"volume", "v1", "v1.Volume", "GetVolumeStats", &volume.GetVolumeStatsRequest{VolumeId: id},
			&volume.GetVolumeStatsResponse{}},
		{"volume", "v1", "v1.Volume", "GetDiskNumberFromVolumeID", &volume.GetDiskNumberFromVolumeIDRequest{VolumeId: id},
			&volume.GetDiskNumberFromVolumeIDResponse{}},
		{"iscsi", "v1alpha2", "v1alpha2.Iscsi", "ListTargetPortals", &iscsi.ListTargetPortalsRequest{},
			&iscsi.ListTargetPortalsResponse{}},
		{"system", "v1alpha1", "v1alpha1.System", "GetBIOSSerialNumber", &systemapi.GetBIOSSerialNumberRequest{},
			&systemapi.GetBIOSSerialNumberResponse{}},
		{"system", "v1alpha1", "v1alpha1.System", "GetService", &systemapi.GetServiceRequest{Name: "MSiSCSI"},
			&systemapi.GetServiceResponse{}},
	}
}

// withDisks returns a node with more disks, the last of which is mounted, and the reads about that one.
func withDisks(t testing.TB, more int) (*csiproxytest.Node, []read) {
	t.Helper()
	n := csiproxytest.Start(t, csiproxytest.Options{})
	var number uint32
	for i := range more {
		number = n.AttachDisk(csiproxytest.Disk{SizeBytes: diskBytes, SerialNumber: serial(i), Target: uint8(i), Formatted: true})
	}
	answer, err := stage(t.Context(), n, number, staged)
	if err != nil {
		t.Fatal(err)
	}
	return n, reads(number, answer.GetVolumeId())
}

// stage stages the disk with a number.
func stage(ctx context.Context, n *csiproxytest.Node, number uint32, target string) (*steps.StageDiskResponse, error) {
	return n.Client().NodeSteps.StageDisk(ctx, &steps.StageDiskRequest{
		Disk: &steps.StageDiskRequest_DiskNumber{DiskNumber: number}, TargetPath: target})
}

func serial(i int) string { return fmt.Sprintf("bench-%d", i) }

// open connects to a socket until the test ends.
func open(t testing.TB, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := dial.Open(t.Context(), address, dial.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// A read about one disk, volume or path makes as many kernel calls on a node with many disks as on one with few.
func TestKernelCallsDoNotGrowWithDisks(t *testing.T) {
	count := func(more int) map[string]int {
		n, all := withDisks(t, more)
		counts := map[string]int{}
		for _, r := range all {
			conn := open(t, n.Socket(r.group, r.version))
			for range 2 { // the agent remembers things from a first call
				after := n.Newest()
				if err := r.call(t.Context(), conn); err != nil {
					t.Fatalf("%s: %v", r.method, err)
				}
				counts[r.method] = 0
				for _, entry := range n.Find(csiproxytest.Query{After: after}) {
					if entry.GetKernel() != nil {
						counts[r.method]++
					}
				}
			}
		}
		return counts
	}
	few, many := count(1), count(30)
	for method, calls := range few {
		if grows := many[method] > calls; grows != (method == "ListDiskIDs") || calls == 0 {
			t.Errorf("%s makes %d kernel calls with few disks and %d with many", method, calls, many[method])
		}
	}
}

// BenchmarkRead measures each read and the echo, which is in this process too, as the agent is.
func BenchmarkRead(b *testing.B) {
	n, all := withDisks(b, 2)
	echo := connect(b, 1, openEcho(b))
	for _, r := range all {
		agent := connect(b, 1, n.Socket(r.group, r.version))
		beside(b, r, "callers=1", 1, agent, echo)
		beside(b, r, fmt.Sprintf("callers=%d", callers), callers, agent, echo)
	}
}

// connect opens that many connections.
func connect(b *testing.B, count int, address string) []*grpc.ClientConn {
	b.Helper()
	conns := make([]*grpc.ClientConn, count)
	for i := range conns {
		conns[i] = open(b, address)
	}
	return conns
}

// beside measures a read and the echo with so many callers at once, which share the connections evenly.
func beside(b *testing.B, r read, name string, atOnce int, agent, echo []*grpc.ClientConn) {
	b.Helper()
	for _, via := range []string{"echo", "agent"} {
		one, conns := r, agent
		if via == "echo" {
			one, conns = echoed(r), echo
		}
		b.Run(fmt.Sprintf("%s/%s/via=%s", r.method, name, via), func(b *testing.B) {
			if atOnce == 1 {
				for b.Loop() {
					if err := one.call(b.Context(), conns[0]); err != nil {
						b.Fatal(err)
					}
				}
				return
			}
			var caller atomic.Uint32
			b.SetParallelism(max(atOnce/runtime.GOMAXPROCS(0), 1))
			b.RunParallel(func(pb *testing.PB) {
				conn := conns[int(caller.Add(1))%len(conns)]
				for pb.Next() {
					if err := one.call(b.Context(), conn); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkSteps measures the steps of new volumes' lives, with the times that calls take on Windows: one volume, and many
// at once, beside few formatted disks and many. Of each step it reports the time until all volumes have it, and kernel calls of one.
func BenchmarkSteps(b *testing.B) {
	for _, disks := range []int{4, 100, 1000} {
		for _, atOnce := range []int{1, 32} {
			b.Run(fmt.Sprintf("disks=%d/volumes=%d", disks, atOnce), func(b *testing.B) {
				n := csiproxytest.Start(b, csiproxytest.Options{})
				for i := range disks {
					n.AttachDisk(csiproxytest.Disk{SizeBytes: diskBytes, SerialNumber: serial(i), Target: uint8(i), Bus: uint8(i >> 8),
						Formatted: true})
				}
				n.SetSwitch("timing", "windows")
				for round := 0; b.Loop(); round++ {
					lives(b, n, disks+round*atOnce, atOnce)
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// lives stages, publishes, expands, unpublishes and unstages new disks at once.
func lives(b *testing.B, n *csiproxytest.Node, first, count int) {
	b.Helper()
	node, ctx := n.Client().NodeSteps, b.Context()
	path := func(kind string, i int) string { return fmt.Sprintf(`%s\bench.example\%s-%d`, plugins, kind, i) }
	numbers := make([]uint32, count)
	for i := range numbers {
		numbers[i] = n.AttachDisk(csiproxytest.Disk{SizeBytes: diskBytes, SerialNumber: serial(first + i)})
	}
	step := func(name string, call func(i int) error) {
		after, start := n.Newest(), time.Now()
		var calls sync.WaitGroup
		for i := range count {
			calls.Go(func() {
				if err := call(i); err != nil {
					b.Error(name, err)
				}
			})
		}
		calls.Wait()
		b.ReportMetric(float64(time.Since(start).Nanoseconds()), name+"-ns")
		// The journal keeps the newest entries and numbers all; one of each step is the driver's call.
		b.ReportMetric(float64(n.Newest()-after)/float64(count)-1, name+"-calls")
	}
	step("stage", func(i int) error {
		_, err := node.StageDisk(ctx, &steps.StageDiskRequest{
			Disk: &steps.StageDiskRequest_SerialNumber{SerialNumber: serial(first + i)}, TargetPath: path("stage", i)})
		return err
	})
	step("publish", func(i int) error {
		_, err := node.Publish(ctx, &steps.PublishRequest{SourcePath: path("stage", i), TargetPath: path("pod", i)})
		return err
	})
	for _, number := range numbers {
		n.GrowDisk(number, 2*diskBytes)
	}
	step("expand", func(i int) error {
		_, err := node.Expand(ctx, &steps.ExpandRequest{TargetPath: path("pod", i)})
		return err
	})
	for _, kind := range []string{"unpublish", "unstage"} {
		step(kind, func(i int) error {
			target := path("stage", i)
			if kind == "unpublish" {
				target = path("pod", i)
			}
			_, err := node.Unstage(ctx, &steps.UnstageRequest{TargetPath: target})
			return err
		})
	}
	for _, number := range numbers {
		n.DetachDisk(number)
	}
}

// BenchmarkStart measures the start of a node in a test.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		csiproxytest.Start(b, csiproxytest.Options{})
	}
}
