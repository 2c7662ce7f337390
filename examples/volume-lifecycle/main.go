// SPDX-License-Identifier: Apache-2.0

// Command volume-lifecycle makes the calls of a CSI driver in the life of a volume, step by step, and prints each call
// and its answer. It needs an agent with an emulated node, whose socket directory is in
// CSI_PROXY_SOCKET_DIR: it also plays the cloud that grows the disk, and the pod that writes a file. It may be run any
// number of times on the same node.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/treeview"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	serial := flag.String("serial", "vol0123456789abcdef1", "serial `number` of the disk to use")
	flag.Parse()
	if err := run(ctx, *serial); err != nil {
		fmt.Fprintf(os.Stderr, "volume-lifecycle: %v\n", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has been called
	}
}

func run(ctx context.Context, serial string) error {
	client, err := adminclient.Dial(ctx, "")
	if err != nil {
		return err
	}
	l := &lifecycle{serial: serial, node: csiproxy.New(csiproxy.Options{}), admin: client}
	defer func() { _, _ = l.node.Close(), l.admin.Close() }()
	for _, part := range []struct {
		title string
		steps func() []step // made when those before are done
	}{
		{"The node before", l.tree},
		{"Stage: from a disk to a mounted volume", l.find},
		{"", l.stage},
		{"The node with the volume mounted", l.tree},
		{"Publish and use: a pod gets the volume", l.publish},
		{"Grow: the cloud makes the disk larger", l.grow},
		{"Unpublish and unstage: the pod is gone", l.unstage},
		{"The node afterwards", l.tree},
	} {
		if part.title != "" {
			fmt.Printf("\n%s\n\n", part.title)
		}
		for _, s := range part.steps() {
			if err := l.do(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// The paths that kubelet gives a driver: the staging path without a drive, the pod's with one.
const (
	stagingPath = `\var\lib\kubelet\plugins\kubernetes.io\csi\example.csi\pv-example\globalmount`
	podDir      = `c:\var\lib\kubelet\pods\5f0e1b9c-example\volumes\kubernetes.io~csi\pv-example`
	podPath     = podDir + `\mount`
	fileName    = "notes.txt"
)

// lifecycle is one volume's life: the client that a driver has, the admin client, and the findings so far.
type lifecycle struct {
	node  *csiproxy.Client
	admin *adminclient.Client

	serial string
	disk   uint32
	volume string
	size   int64 // of the disk
	number int   // of the step
}

// tree draws the node.
func (l *lifecycle) tree() []step {
	return []step{{do: func(ctx context.Context) (string, error) {
		tree, err := l.admin.GetTree(ctx, &admin.GetTreeRequest{})
		if err != nil {
			return "", err
		}
		return "", treeview.Write(os.Stdout, treeview.FromAdmin(tree))
	}}}
}

// A step is one call, or a change by another program.
type step struct {
	why  string // the purpose, for people
	call string // the methods that are called; empty: the step prints its own output and is not numbered
	do   action
}

// An act returns its outcome, for people.
type action func(ctx context.Context) (outcome string, err error)

// calling returns the act of one call whose answer says no more than that it succeeded.
func calling[Request, Response any](method func(context.Context, *Request, ...grpc.CallOption) (*Response, error),
	request *Request, outcome string) action {
	return func(ctx context.Context) (string, error) {
		_, err := method(ctx, request)
		return outcome, err
	}
}

// column is the column in which the time of a step ends.
const column = 72

// do runs one step and prints it: number and purpose, then the call, its duration and its outcome.
func (l *lifecycle) do(ctx context.Context, s step) error {
	if s.call == "" {
		_, err := s.do(ctx)
		return plain(err)
	}
	l.number++
	fmt.Printf("%3d. %s\n", l.number, s.why)
	begin := time.Now()
	outcome, err := s.do(ctx)
	took := time.Since(begin)
	if err != nil {
		return fmt.Errorf("step %d: %s: %w", l.number, s.call, plain(err))
	}
	line := "     " + s.call
	fmt.Printf("%s%*s\n", line, max(2, column-utf8.RuneCountInString(line)),
		fmt.Sprintf("%.1f ms", float64(took.Microseconds())/1000))
	fmt.Printf("     → %s\n", outcome)
	return nil
}

// plain returns an error without gRPC's framing.
func plain(err error) error {
	if s, ok := status.FromError(err); ok && err != nil {
		return errors.New(s.Message())
	}
	return err
}
