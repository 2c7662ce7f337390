// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

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

// connect makes the clients, as a driver does when it starts. That of the API connects with its first call.
func connect(ctx context.Context, serial string) (*lifecycle, error) {
	client, err := adminclient.Dial(ctx, "")
	if err != nil {
		return nil, err
	}
	return &lifecycle{serial: serial, node: csiproxy.New(csiproxy.Options{}), admin: client}, nil
}

func (l *lifecycle) close() { _, _ = l.node.Close(), l.admin.Close() } // the process ends

// tree draws the node.
func (l *lifecycle) tree() step {
	return step{do: func(ctx context.Context) (string, error) {
		tree, err := l.admin.GetTree(ctx, &admin.GetTreeRequest{})
		if err != nil {
			return "", err
		}
		return "", treeview.Write(os.Stdout, treeview.FromAdmin(tree))
	}}
}

// stats writes a volume's figures.
func stats(total, used int64) string {
	return fmt.Sprintf("%s in all, %s used", treeview.Size(total), treeview.Size(used))
}
