// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
)

func diskCommand(a *connection) *cobra.Command {
	return group("disk", "Attach, detach and change disks",
		attachCommand(a),
		namedDisk(a, "detach DISK", "Pull a disk out, even if it is in use; prints where its image is, whose directory is "+
			"its bundle",
			func(ctx context.Context, client *adminclient.Client, disk uint32) (answer, error) {
				r, err := client.DetachDisk(ctx, &admin.DetachDiskRequest{DiskNumber: disk})
				return shown(r, err, r.GetImagePath())
			}),
		growCommand(a),
		namedDisk(a, "offline DISK", "Take a disk offline", setState(false)),
		namedDisk(a, "online DISK", "Bring a disk online", setState(true)),
		namedDisk(a, "read-only DISK", "Make a disk read-only", setReadOnly(true)),
		namedDisk(a, "writable DISK", "Make a disk writable", setReadOnly(false)))
}

// namedDisk makes a command for one disk. --disk is how the disk was once named.
func namedDisk(a *connection, use, short string, call func(context.Context, *adminclient.Client, uint32) (answer,
	error)) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short}
	once := c.Flags().String("disk", "", "disk `number`")
	_ = c.Flags().MarkHidden("disk") // the flag is there
	c.Args = func(c *cobra.Command, args []string) error {
		if *once != "" && len(args) == 0 {
			return nil
		}
		return checkArguments(c, args)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			args = []string{*once}
		}
		args, err := a.resolved(c, args)
		if err != nil {
			return err
		}
		return a.runAdmin(c, func(ctx context.Context, client *adminclient.Client) (answer, error) {
			return call(ctx, client, diskOf(args))
		})
	}
	return change(c)
}

func setState(online bool) func(context.Context, *adminclient.Client, uint32) (answer, error) {
	return func(ctx context.Context, client *adminclient.Client, disk uint32) (answer, error) {
		return done(client.SetDiskState(ctx, &admin.SetDiskStateRequest{DiskNumber: disk, Online: online}))
	}
}

func setReadOnly(readOnly bool) func(context.Context, *adminclient.Client, uint32) (answer, error) {
	return func(ctx context.Context, client *adminclient.Client, disk uint32) (answer, error) {
		return done(client.SetDiskReadOnly(ctx, &admin.SetDiskReadOnlyRequest{DiskNumber: disk, ReadOnly: readOnly}))
	}
}

func growCommand(a *connection) *cobra.Command {
	var to size
	c := namedDisk(a, "grow DISK --size BYTES", "Make a disk larger", func(ctx context.Context, client *adminclient.Client,
		disk uint32) (answer, error) {
		return done(client.GrowDisk(ctx, &admin.GrowDiskRequest{DiskNumber: disk, SizeBytes: int64(to)}))
	})
	c.DisableFlagsInUseLine = true
	c.Flags().Var(&to, "size", "the new total; `bytes`, or with a unit: 20Gi")
	required(c, "size")
	return c
}

func attachCommand(a *connection) *cobra.Command {
	c := &cobra.Command{
		Use:   "attach {--size BYTES | --image FILE | --bundle DIR}",
		Short: "Attach a disk, blank, formatted, from another node or with the content of an image; prints its number",
		Long: "Attach a disk, blank, formatted, from another node or with the content of an image; prints its number. A " +
			"bundle is a disk " +
			"with its identity and its files: detach makes one, and --bundle with --size a blank one.",
		Example: `  csi-proxyctl node disk attach --size 20Gi --serial vol0123456789abcdef3 --lun 3
  csi-proxyctl node disk attach --size 20Gi --bundle /cloud/vol-1
  csi-proxyctl node disk attach --bundle /cloud/vol-1`,
	}
	var total size
	c.Flags().Var(&total, "size", "`bytes`, or with a unit: 20Gi")
	image := c.Flags().String("image", "",
		"a `file` with the disk's bytes, which is moved into the node, or the one that detach printed")
	bundle := c.Flags().String("bundle", "",
		"the `directory` of a bundle, which is used where it is; with --size it is made if it is missing")
	c.MarkFlagsOneRequired("size", "image", "bundle")
	c.MarkFlagsMutuallyExclusive("image", "bundle")
	formatted := c.Flags().Bool("formatted", false, "the disk has a GPT and an NTFS volume, like one that has been in use")
	c.MarkFlagsMutuallyExclusive("formatted", "image")
	c.MarkFlagsMutuallyExclusive("formatted", "bundle")
	r := &admin.AttachDiskRequest{}
	c.Flags().StringVar(&r.SerialNumber, "serial", "", "serial `number` (default: none, or the bundle's)")
	var naa, t10, eui string
	c.Flags().StringVar(&naa, "naa", "", "page 83 identifier: NAA name in `hex`")
	c.Flags().StringVar(&naa, "page83", "", "the same as --naa `hex`")
	c.Flags().StringVar(&eui, "eui64", "", "page 83 identifier: EUI-64 in `hex`")
	c.Flags().StringVar(&t10, "t10", "",
		"page 83 identifier: T10 vendor id, ASCII `text` such as \"Google  persistent-disk-0\"")
	c.MarkFlagsMutuallyExclusive("naa", "page83")
	c.Flags().StringVar(&r.BusType, "bus-type", "",
		"`type`: Scsi, Sas, Nvme, iScsi, Virtual and others (default: Scsi, or the bundle's)")
	complete(c, "bus-type", "Scsi", "Sas", "Nvme", "iScsi", "Virtual")
	c.Flags().Uint32Var(&r.Adapter, "adapter", 0, "SCSI adapter `number`")
	c.Flags().Uint32Var(&r.Bus, "bus", 0, "SCSI bus `number`")
	c.Flags().Uint32Var(&r.Target, "target", 0, "SCSI target `number`")
	lun := c.Flags().Uint32("lun", 0, "logical unit `number` (default: the lowest free one)")
	c.Flags().BoolVar(&r.Offline, "offline", false, "the disk arrives offline")
	c.Flags().BoolVar(&r.ReadOnly, "read-only", false, "the disk arrives read-only")
	c.Flags().Uint32Var(&r.SectorSize, "sector-size", 0, "512 or 4096 `bytes` (default: 512, or the bundle's)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		r.SizeBytes, r.Formatted = int64(total), *formatted
		if c.Flags().Changed("lun") {
			r.Lun = lun
		}
		var err error
		if r.Identifiers, err = identifiers(naa, eui, t10); err != nil {
			return err
		}
		if r.ImagePath, err = absolute(*image); err != nil {
			return err
		}
		if r.BundlePath, err = absolute(*bundle); err != nil {
			return err
		}
		return a.runAdmin(c, func(ctx context.Context, client *adminclient.Client) (answer, error) {
			answered, err := client.AttachDisk(ctx, r)
			return shown(answered, err, fmt.Sprint(answered.GetDiskNumber()))
		})
	}
	return change(c)
}

// absolute returns the absolute form of a path for the agent, which has its own current directory. An empty path stays
// empty.
func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.Abs(path)
}

// identifiers returns the page 83 identifiers that the flags name. The code sets and types are those of SPC-4.
func identifiers(naa, eui, t10 string) ([]*admin.Identifier, error) {
	var list []*admin.Identifier
	for _, i := range []struct {
		text   string
		number uint32
	}{{naa, 3}, {eui, 2}} {
		if i.text == "" {
			continue
		}
		bytes, err := hex.DecodeString(i.text)
		if err != nil {
			return nil, fmt.Errorf("identifier %q is not hex", i.text)
		}
		list = append(list, &admin.Identifier{CodeSet: 1, Type: i.number, Identifier: bytes})
	}
	if t10 != "" {
		list = append(list, &admin.Identifier{CodeSet: 2, Type: 1, Identifier: []byte(t10)})
	}
	return list, nil
}
