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
		a.storage(a.command("exists", "Print whether there is anything at a path", "PATH"),
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				r, err := client.Filesystem.PathExists(ctx, &filesystemapi.PathExistsRequest{Path: args[0]})
				return yesNo(args[0], "exists", r.GetExists(), err)
			}),
		a.storage(a.command("is-link", "Print whether a path is a link or mount point that leads somewhere", "PATH"),
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				r, err := client.Filesystem.IsSymlink(ctx, &filesystemapi.IsSymlinkRequest{Path: args[0]})
				return yesNo(args[0], "isLink", r.GetIsSymlink(), err)
			}),
		change(a.storage(a.command("mkdir", "Make a directory, with its parents", "PATH"),
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				return done(client.Filesystem.Mkdir(ctx, &filesystemapi.MkdirRequest{Path: args[0]}))
			})),
		change(a.storage(a.command("link", "Make a directory link at a path that leads to a source", "SOURCE", "PATH"),
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				return done(client.Filesystem.CreateSymlink(ctx,
					&filesystemapi.CreateSymlinkRequest{SourcePath: args[0], TargetPath: args[1]}))
			})),
		rmdirCommand(a),
		asks(a.storage(a.command("rmdir-contents", "Remove everything in a directory but keep the directory", "PATH"),
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				return done(client.Filesystem.RmdirContents(ctx, &filesystemapi.RmdirContentsRequest{Path: args[0]}))
			}), "Files in it are lost. The targets of links and mount points are not touched."))
	c.Long = c.Short + `.

A PATH is a Windows path in a working directory of the agent, such as kubelet's. Quote it, because shells interpret \.`
	c.Example = `  csi-proxyctl fs exists 'C:\var\lib\kubelet\pods'`
	return c
}

func rmdirCommand(a *connection) *cobra.Command {
	c := a.command("rmdir", "Remove an empty directory, a link or a mount point", "PATH")
	force := c.Flags().Bool("force", false,
		"remove a directory with all its content, and do nothing if the path is missing")
	return asks(a.storage(c, func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
		return done(client.Filesystem.Rmdir(ctx, &filesystemapi.RmdirRequest{Path: args[0], Force: *force}))
	}), "A directory must be empty; with --force, files in it are lost. The target of a link or a mount point is not "+
		"touched.")
}
