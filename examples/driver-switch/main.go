// SPDX-License-Identifier: Apache-2.0

// Command driver-switch is the smallest driver that runs in both kinds of Windows containers. In an ordinary one it
// calls the node's agent through its pipes; in a HostProcess container, with the option -host-process, it does the same
// work in its own process. Only connect tells the two apart.
//
// It stages a volume as NodeStageVolume does, and may be run again after it failed anywhere:
//
//	driver-switch -serial vol0123456789abcdef1 -staging \var\lib\kubelet\plugins\example\globalmount
//
// Off Windows, CSI_PROXY_SOCKET_DIR names the directory of the sockets of an agent with an emulated node.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/inprocess"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "driver-switch: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("driver-switch", flag.ContinueOnError)
	hostProcess := flags.Bool("host-process", false, "run in a HostProcess container: work in process, without an agent")
	serial := flags.String("serial", "", "serial `number` of the volume's disk")
	staging := flags.String("staging", "", "`directory` to mount the volume at")
	if err := flags.Parse(args); err != nil {
		return err
	}
	client, finish, err := connect(*hostProcess)
	if err != nil {
		return err
	}
	// Work that has begun is finished even if the signal came meanwhile; otherwise it would be left half done.
	defer func() { err = errors.Join(err, finish(context.WithoutCancel(ctx))) }()
	volume, err := stage(ctx, client, *serial, *staging)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s is mounted at %s\n", volume, *staging)
	return err
}

// connect returns the client that the driver works with, and what to call when it ends.
func connect(hostProcess bool) (client *csiproxy.Client, finish func(context.Context) error, err error) {
	if hostProcess {
		node, err := inprocess.Open(inprocess.Options{})
		if err != nil {
			return nil, nil, err
		}
		return node.Client(), node.Close, nil
	}
	client = csiproxy.New(csiproxy.Options{})
	return client, func(context.Context) error { return client.Close() }, nil
}

// stage mounts the volume on the disk with a serial number, formats it first if it is blank, and returns its id.
func stage(ctx context.Context, client *csiproxy.Client, serial, staging string) (volume string, err error) {
	number, err := findDisk(ctx, client, serial)
	if err != nil {
		return "", err
	}
	if _, err := client.Disk.PartitionDisk(ctx, &csiproxy.PartitionDiskRequest{DiskNumber: number}); err != nil {
		return "", err
	}
	if _, err := client.Disk.SetDiskState(ctx,
		&csiproxy.SetDiskStateRequest{DiskNumber: number, IsOnline: true}); err != nil {
		return "", err
	}
	volumes, err := client.Volume.ListVolumesOnDisk(ctx, &csiproxy.ListVolumesOnDiskRequest{DiskNumber: number})
	if err != nil {
		return "", err
	}
	volume = volumes.GetVolumeIds()[0] // a partitioned disk has one
	is, err := client.Volume.IsVolumeFormatted(ctx, &csiproxy.IsVolumeFormattedRequest{VolumeId: volume})
	if err == nil && !is.GetFormatted() {
		_, err = client.Volume.FormatVolume(ctx, &csiproxy.FormatVolumeRequest{VolumeId: volume})
	}
	if err == nil {
		_, err = client.Volume.MountVolume(ctx, &csiproxy.MountVolumeRequest{VolumeId: volume, TargetPath: staging})
	}
	return volume, err
}

// findDisk returns the number of the disk with a serial number. Numbers change when the node boots.
func findDisk(ctx context.Context, client *csiproxy.Client, serial string) (uint32, error) {
	disks, err := client.Disk.ListDiskIDs(ctx, &csiproxy.ListDiskIDsRequest{})
	if err != nil {
		return 0, err
	}
	for number, ids := range disks.GetDiskIDs() {
		if serial != "" && ids.GetSerialNumber() == serial {
			return number, nil
		}
	}
	return 0, fmt.Errorf("no disk has the serial number %q", serial)
}
