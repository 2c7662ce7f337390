// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"

	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

func fsGroup(a *connection) *cobra.Command {
	c := group("fs", "Make and remove directories and links",
		a.storage(&cobra.Command{
			Use: "exists PATH", Short: "Print whether there is anything at a path",
			Example: `  csi-proxyctl fs exists 'C:\var\lib\kubelet\pods'`,
		}, "looking at the path", func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
			r, err := client.Filesystem.PathExists(ctx, &filesystemapi.PathExistsRequest{Path: args[0]})
			return yesNo(args[0], "exists", r.GetExists(), err)
		}),
		a.storage(&cobra.Command{Use: "is-link PATH", Short: "Print whether a path is a link or mount point that leads " +
			"somewhere"}, "looking at the path",
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				r, err := client.Filesystem.IsSymlink(ctx, &filesystemapi.IsSymlinkRequest{Path: args[0]})
				return yesNo(args[0], "isLink", r.GetIsSymlink(), err)
			}),
		change(a.storage(&cobra.Command{Use: "mkdir PATH", Short: "Make a directory, with its parents"},
			"making the directory",
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				return done(client.Filesystem.Mkdir(ctx, &filesystemapi.MkdirRequest{Path: args[0]}))
			})),
		change(a.storage(&cobra.Command{Use: "link SOURCE PATH", Short: "Make a directory link at a path that leads to " +
			"a source"}, "making the link",
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				return done(client.Filesystem.CreateSymlink(ctx,
					&filesystemapi.CreateSymlinkRequest{SourcePath: args[0], TargetPath: args[1]}))
			})),
		rmdirCommand(a),
		a.deed(&cobra.Command{Use: "rmdir-contents PATH", Short: "Remove everything in a directory but keep the directory"},
			func(args []string) deed {
				return pathDeed(args[0], deed{
					what: "remove everything in " + args[0], doing: "emptying the directory", effect: contentIsLost,
					do: func(ctx context.Context, client *csiproxy.Client) (answer, error) {
						return done(client.Filesystem.RmdirContents(ctx, &filesystemapi.RmdirContentsRequest{Path: args[0]}))
					},
				})
			}))
	c.Long = c.Short + `.

A PATH is a Windows path in a working directory of the agent, such as kubelet's. Quote it, because shells interpret \.`
	return c
}

const contentIsLost = "Files in it are lost. The targets of links and mount points are not touched."

func rmdirCommand(a *connection) *cobra.Command {
	c := &cobra.Command{Use: "rmdir PATH", Short: "Remove an empty directory, a link or a mount point"}
	force := c.Flags().Bool("force", false,
		"remove a directory with all its content, and do nothing if the path is missing")
	return a.deed(c, func(args []string) deed {
		d := pathDeed(args[0], deed{
			what: "remove " + args[0], doing: "removing the directory",
			effect: "A directory must be empty. The target of a link or a mount point is not touched.",
			do: func(ctx context.Context, client *csiproxy.Client) (answer, error) {
				return done(client.Filesystem.Rmdir(ctx, &filesystemapi.RmdirRequest{Path: args[0], Force: *force}))
			},
		})
		if *force {
			d.what, d.effect = d.what+", with all its content", contentIsLost
		}
		return d
	})
}

// pathDeed makes a deed that first shows what is at a path.
func pathDeed(path string, d deed) deed {
	d.look = func(ctx context.Context, client *csiproxy.Client) ([]string, error) {
		return describePath(ctx, client, path)
	}
	return d
}
