// SPDX-License-Identifier: Apache-2.0

// Command volume-lifecycle makes the calls of a CSI driver in the life of a volume, step by step, and prints each call
// and its answer. It needs an agent with an emulated node, whose socket directory is in
// CSI_PROXY_SOCKET_DIR: it also plays the cloud that grows the disk, and the pod that writes a file. It may be run any
// number of times on the same node.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
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
	l, err := connect(ctx, serial)
	if err != nil {
		return err
	}
	defer l.close()
	for _, part := range []struct {
		title string
		steps []step
	}{
		{"The node before", []step{l.tree()}},
		{"Stage: from a disk to a mounted volume", l.stage()},
		{"The node with the volume mounted", []step{l.tree()}},
		{"Publish and use: a pod gets the volume", l.publish()},
		{"Grow: the cloud makes the disk larger", l.grow()},
		{"Unpublish and unstage: the pod is gone", l.unstage()},
		{"The node afterwards", []step{l.tree()}},
	} {
		fmt.Printf("\n%s\n\n", bold(part.title))
		for _, s := range part.steps {
			if err := l.do(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}
