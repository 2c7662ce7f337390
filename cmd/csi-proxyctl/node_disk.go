// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/structpb"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

func diskCommand(a *connection) *cobra.Command {
	// set returns a command that sets keys of a disk.
	set := func(name, short string, keys element) *cobra.Command {
		return a.controls(a.command(name, short, "DISK"), modify, "disks", func(args []string) (element, error) {
			return with(keys, element{"number": diskOf(args)}), nil
		}, nil)
	}
	detached := a.runs(a.command("detached",
		"List the disks that were pulled out, with the command that attaches each again"), a.listDetached)
	detached.Long = detached.Short + ". Bundles that are kept\nelsewhere than in the node's directory are not listed."
	detach := a.command("detach",
		"Detach a disk, even if it is in use; prints the path of its image, in the bundle's directory", "DISK")
	var total size
	growth := element{}
	grow := prepared(set("grow", "Make a disk larger", growth), func([]string) error {
		growth["size"] = int64(total)
		return nil
	})
	grow.Flags().Var(&total, "size", "the new total; `bytes`, or with a unit: 20Gi")
	required(grow, "size")
	return group("disk", "Attach, detach and change disks",
		attachCommand(a),
		a.controls(detach, remove, "disks", func(args []string) (element, error) {
			return element{"number": diskOf(args)}, nil
		}, ofDisk("imagePath", func(d diskPart) any { return d.Image })),
		detached,
		grow,
		set("offline", "Take a disk offline", element{"offline": true}),
		set("online", "Bring a disk online", element{"offline": false}),
		set("read-only", "Make a disk read-only", element{"readOnly": true}),
		set("writable", "Make a disk writable", element{"readOnly": false}))
}

// diskPart is a disk in a document of the node.
type diskPart struct {
	Number        uint32
	Serial        string
	Size          int64
	Image, Bundle string
}

// ofDisk returns what shows a value of the only disk of a document, under a name.
func ofDisk(name string, value func(diskPart) any) func(*structpb.Struct) (answer, error) {
	return func(document *structpb.Struct) (answer, error) {
		disks, err := nodeapi.Part[[1]diskPart](document, "disks")
		of := value(disks[0])
		return answer{value: element{name: of}, rows: []string{fmt.Sprint(of)}}, err
	}
}

// listDetached lists the disks that were pulled out. The commands are for POSIX shells.
func (a *connection) listDetached(ctx context.Context, _ []string) (answer, error) {
	disks, err := part[[]diskPart](ctx, a, "detachedDisks")
	const heads = "SERIAL\tSIZE\tTO ATTACH IT AGAIN"
	found := table("disks", heads, disks, func(d diskPart) (any, []any) {
		return element{"serialNumber": d.Serial, "sizeBytes": d.Size, "bundlePath": d.Bundle}, []any{d.Serial,
			treeview.Size(d.Size),
			"csi-proxyctl node disk attach --bundle '" + strings.ReplaceAll(d.Bundle, "'", `'\''`) + "'"}
	})
	found.names = namesOf(disks, func(d diskPart) string { return d.Bundle })
	return found, err
}

func attachCommand(a *connection) *cobra.Command {
	c := a.command("attach",
		"Attach a disk, blank, formatted, from another node or with the content of an image; prints its number")
	c.Long = c.Short + `.
A bundle is a disk with its identity and its files: detach makes one, and --bundle with --size a blank one.`
	c.Example = `  csi-proxyctl node disk attach --size 20Gi --serial vol0123456789abcdef3 --lun 3
  csi-proxyctl node disk attach --size 20Gi --bundle /cloud/vol-1
  csi-proxyctl node disk attach --bundle /cloud/vol-1`
	flags := c.Flags()
	flags.Var(new(size), "size", "`bytes`, or with a unit: 20Gi")
	flags.String("image", "",
		"a `file` with the disk's bytes, which is copied into the node, or the one that detach printed")
	flags.String("bundle", "",
		"the `directory` of a bundle, which is used where it is; with --size it is made if it is missing")
	c.MarkFlagsOneRequired("size", "image", "bundle")
	formatted := flags.Bool("formatted", false, "the disk has a GPT and an NTFS volume, like one that has been in use")
	c.MarkFlagsMutuallyExclusive("formatted", "image", "bundle")
	flags.String("serial", "", "serial `number` (default: none, or the bundle's)")
	naa := flags.String("naa", "", "page 83 identifier: NAA name in `hex`")
	eui := flags.String("eui64", "", "page 83 identifier: EUI-64 in `hex`")
	t10 := flags.String("t10", "",
		"page 83 identifier: T10 vendor id, ASCII `text` such as \"Google  persistent-disk-0\"")
	flags.String("bus-type", "", "`type`: Scsi, Sas, Nvme, iScsi, Virtual and others (default: Scsi, or the bundle's)")
	complete(c, "bus-type", "Scsi", "Sas", "Nvme", "iScsi", "Virtual")
	flags.Uint32("adapter", 0, "SCSI adapter `number`")
	flags.Uint32("bus", 0, "SCSI bus `number`")
	flags.Uint32("target", 0, "SCSI target `number`")
	flags.Uint32("lun", 0, "logical unit `number` (default: the lowest free one)")
	flags.Bool("offline", false, "the disk arrives offline")
	flags.Bool("read-only", false, "the disk arrives read-only")
	flags.Uint32("sector-size", 0, "512 or 4096 `bytes` (default: 512, or the bundle's)")
	a.controls(c, add, "disks", func([]string) (element, error) {
		disk := flagged(flags, map[string]string{"size": "size", "image": "image", "bundle": "bundle", "serial": "serial",
			"bus-type": "busType", "adapter": "adapter", "bus": "bus", "target": "target", "lun": "lun", "offline": "offline",
			"read-only": "readOnly", "sector-size": "sectorSize"})
		for _, key := range []string{"image", "bundle"} { // the agent has another current directory
			path, is := disk[key].(string)
			if !is || path == "" {
				continue
			}
			var err error
			if disk[key], err = filepath.Abs(path); err != nil {
				return nil, err
			}
		}
		if *formatted {
			disk["content"] = "formatted"
		}
		var identifiers []element
		for _, i := range [][3]string{{"naa", "hex", *naa}, {"eui64", "hex", *eui}, {"t10", "ascii", *t10}} {
			if i[2] != "" {
				identifiers = append(identifiers, element{"type": i[0], i[1]: i[2]})
			}
		}
		if identifiers != nil {
			disk["identifiers"] = identifiers
		}
		return disk, nil
	}, ofDisk("diskNumber", func(d diskPart) any { return d.Number }))
	return prepared(c, func([]string) error {
		for _, text := range []string{*naa, *eui} {
			if _, err := hex.DecodeString(text); err != nil {
				return fmt.Errorf("identifier %q is not hex", text)
			}
		}
		return nil
	})
}
