// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	disk "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1"
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

// lifecycle is one volume's life: the clients that a driver has, the admin client, and the findings so far.
type lifecycle struct {
	disks   *disk.Client
	files   *filesystem.Client
	volumes *volume.Client
	admin   *adminclient.Client

	serial string
	disk   uint32
	volume string
	size   int64 // of the disk
	number int   // of the step
}

// connect makes the clients, as a driver does when it starts.
func connect(ctx context.Context, serial string) (*lifecycle, error) {
	l := &lifecycle{serial: serial}
	var err error
	if l.admin, err = adminclient.Dial(ctx, ""); err != nil {
		return nil, err
	}
	if l.disks, err = disk.NewClient(); err != nil {
		return nil, err
	}
	if l.files, err = filesystem.NewClient(); err != nil {
		return nil, err
	}
	if l.volumes, err = volume.NewClient(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *lifecycle) close() {
	_, _, _, _ = l.disks.Close(), l.files.Close(), l.volumes.Close(), l.admin.Close() // the process ends
}

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
