// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

func diskCommand(a *connection) *cobra.Command {
	return group("disk", "Attach, detach and change disks",
		attachCommand(a),
		change(a, "detach", "Detach a disk, even if it is in use; prints the path of its image, in the bundle's directory",
			nodeClient.DetachDisk, "DISK"),
		a.runs(a.command("detached", "List the disks that were pulled out, with the command that attaches each again"),
			a.listDetached),
		growCommand(a),
		change(a, "offline", "Take a disk offline", nodeClient.SetDiskState, "DISK"),
		changeWith(a, "online", "Bring a disk online", &admin.SetDiskStateRequest{Online: true}, nodeClient.SetDiskState,
			"DISK"),
		changeWith(a, "read-only", "Make a disk read-only", &admin.SetDiskReadOnlyRequest{ReadOnly: true},
			nodeClient.SetDiskReadOnly, "DISK"),
		change(a, "writable", "Make a disk writable", nodeClient.SetDiskReadOnly, "DISK"))
}

// listDetached lists the disks that were pulled out. The commands are for POSIX shells.
func (a *connection) listDetached(ctx context.Context, _ []string) (answer, error) {
	r, err := invoke(ctx, a, nodeClient.ListDetachedDisks, &admin.ListDetachedDisksRequest{})
	names, heads := []string{}, "SERIAL\tSIZE\tTO ATTACH IT AGAIN"
	found := table("disks", heads, r.GetDisks(), func(d *admin.DetachedDisk) (any, []any) {
		names = append(names, d.GetBundlePath())
		return message{d}, []any{d.GetSerialNumber(), treeview.Size(d.GetSizeBytes()),
			"csi-proxyctl node disk attach --bundle '" + strings.ReplaceAll(d.GetBundlePath(), "'", `'\''`) + "'"}
	})
	found.names = names
	return found, err
}

func growCommand(a *connection) *cobra.Command {
	r := &admin.GrowDiskRequest{}
	c := changeWith(a, "grow", "Make a disk larger", r, nodeClient.GrowDisk, "DISK")
	c.Flags().Var((*size)(&r.SizeBytes), "size", "the new total; `bytes`, or with a unit: 20Gi")
	required(c, "size")
	return c
}

func attachCommand(a *connection) *cobra.Command {
	r := &admin.AttachDiskRequest{}
	c := changeWith(a, "attach",
		"Attach a disk, blank, formatted, from another node or with the content of an image; prints its number", r,
		nodeClient.AttachDisk)
	c.Long = c.Short + `.
A bundle is a disk with its identity and its files: detach makes one, and --bundle with --size a blank one.`
	c.Example = `  csi-proxyctl node disk attach --size 20Gi --serial vol0123456789abcdef3 --lun 3
  csi-proxyctl node disk attach --size 20Gi --bundle /cloud/vol-1
  csi-proxyctl node disk attach --bundle /cloud/vol-1`
	flags := c.Flags()
	flags.Var((*size)(&r.SizeBytes), "size", "`bytes`, or with a unit: 20Gi")
	flags.StringVar(&r.ImagePath, "image", "",
		"a `file` with the disk's bytes, which is moved into the node, or the one that detach printed")
	flags.StringVar(&r.BundlePath, "bundle", "",
		"the `directory` of a bundle, which is used where it is; with --size it is made if it is missing")
	c.MarkFlagsOneRequired("size", "image", "bundle")
	c.MarkFlagsMutuallyExclusive("image", "bundle")
	flags.BoolVar(&r.Formatted, "formatted", false, "the disk has a GPT and an NTFS volume, like one that has been in use")
	c.MarkFlagsMutuallyExclusive("formatted", "image")
	c.MarkFlagsMutuallyExclusive("formatted", "bundle")
	flags.StringVar(&r.SerialNumber, "serial", "", "serial `number` (default: none, or the bundle's)")
	naa := flags.String("naa", "", "page 83 identifier: NAA name in `hex`")
	eui := flags.String("eui64", "", "page 83 identifier: EUI-64 in `hex`")
	t10 := flags.String("t10", "",
		"page 83 identifier: T10 vendor id, ASCII `text` such as \"Google  persistent-disk-0\"")
	flags.StringVar(&r.BusType, "bus-type", "",
		"`type`: Scsi, Sas, Nvme, iScsi, Virtual and others (default: Scsi, or the bundle's)")
	complete(c, "bus-type", "Scsi", "Sas", "Nvme", "iScsi", "Virtual")
	flags.Uint32Var(&r.Adapter, "adapter", 0, "SCSI adapter `number`")
	flags.Uint32Var(&r.Bus, "bus", 0, "SCSI bus `number`")
	flags.Uint32Var(&r.Target, "target", 0, "SCSI target `number`")
	lun := flags.Uint32("lun", 0, "logical unit `number` (default: the lowest free one)")
	flags.BoolVar(&r.Offline, "offline", false, "the disk arrives offline")
	flags.BoolVar(&r.ReadOnly, "read-only", false, "the disk arrives read-only")
	flags.Uint32Var(&r.SectorSize, "sector-size", 0, "512 or 4096 `bytes` (default: 512, or the bundle's)")
	return prepared(c, func([]string) (err error) {
		if flags.Changed("lun") {
			r.Lun = lun
		}
		for _, path := range []*string{&r.ImagePath, &r.BundlePath} {
			if *path, err = absolute(*path); err != nil {
				return err
			}
		}
		r.Identifiers, err = identifiers(*naa, *eui, *t10)
		return err
	})
}

// absolute returns the absolute form of a path for the agent, which has another current directory.
func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.Abs(path)
}

// identifiers returns the page 83 identifiers of the flags, with the code sets and types of SPC-4.
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
