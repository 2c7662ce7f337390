// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"

	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

func fsGroup(a *connection) *cobra.Command {
	c := groupCommand("fs", "Make and remove directories and links",
		existsCommand(a), isLinkCommand(a), mkdirCommand(a), linkCommand(a), rmdirCommand(a), rmdirContentsCommand(a))
	c.Long = c.Short + `.

A PATH is a Windows path in a working directory of the agent, such as kubelet's. Quote it: shells read \ otherwise.`
	return c
}

func existsCommand(a *connection) *cobra.Command {
	return apiCommand(a, &cobra.Command{
		Use: "exists PATH", Short: "Print whether there is anything at a path", Args: cobra.ExactArgs(1),
		Example: `  csi-proxyctl fs exists 'C:\var\lib\kubelet\pods'`,
	}, "looking at the path", func(ctx context.Context, c *cobra.Command, client *csiproxy.Client, args []string) error {
		r, err := client.Filesystem.PathExists(ctx, &filesystemapi.PathExistsRequest{Path: args[0]})
		if err != nil {
			return err
		}
		return a.yesNo(c, "exists", r.GetExists())
	})
}

func isLinkCommand(a *connection) *cobra.Command {
	return apiCommand(a, &cobra.Command{
		Use: "is-link PATH", Short: "Print whether a path is a link or mount point that leads somewhere", Args: cobra.ExactArgs(1),
	}, "looking at the path", func(ctx context.Context, c *cobra.Command, client *csiproxy.Client, args []string) error {
		r, err := client.Filesystem.IsSymlink(ctx, &filesystemapi.IsSymlinkRequest{Path: args[0]})
		if err != nil {
			return err
		}
		return a.yesNo(c, "isLink", r.GetIsSymlink())
	})
}

func mkdirCommand(a *connection) *cobra.Command {
	return apiCommand(a, &cobra.Command{
		Use: "mkdir PATH", Short: "Make a directory, with its parents", Args: cobra.ExactArgs(1),
	}, "making the directory", func(ctx context.Context, _ *cobra.Command, client *csiproxy.Client, args []string) error {
		_, err := client.Filesystem.Mkdir(ctx, &filesystemapi.MkdirRequest{Path: args[0]})
		return err
	})
}

func linkCommand(a *connection) *cobra.Command {
	return apiCommand(a, &cobra.Command{
		Use: "link SOURCE PATH", Short: "Make a directory link at a path that leads to a source", Args: cobra.ExactArgs(2),
	}, "making the link", func(ctx context.Context, _ *cobra.Command, client *csiproxy.Client, args []string) error {
		_, err := client.Filesystem.CreateSymlink(ctx, &filesystemapi.CreateSymlinkRequest{SourcePath: args[0], TargetPath: args[1]})
		return err
	})
}

func rmdirCommand(a *connection) *cobra.Command {
	c := &cobra.Command{Use: "rmdir PATH", Short: "Remove an empty directory, a link or a mount point", Args: cobra.ExactArgs(1)}
	force := c.Flags().Bool("force", false, "also a directory with all its content, and nothing when the path is missing")
	return deedCommand(a, c, func(args []string) (deed, error) {
		d := pathDeed(args[0], "remove "+args[0], "removing the directory", func(ctx context.Context, client *csiproxy.Client) error {
			_, err := client.Filesystem.Rmdir(ctx, &filesystemapi.RmdirRequest{Path: args[0], Force: *force})
			return err
		})
		d.effect = "A directory has to be empty. What a link or a mount point leads to is not touched."
		if *force {
			d.what += ", with all its content"
			d.effect = "Files in it are lost. What links and mount points lead to is not touched."
		}
		return d, nil
	})
}

func rmdirContentsCommand(a *connection) *cobra.Command {
	c := &cobra.Command{Use: "rmdir-contents PATH", Short: "Remove everything in a directory, and keep the directory", Args: cobra.ExactArgs(1)}
	return deedCommand(a, c, func(args []string) (deed, error) {
		d := pathDeed(args[0], "remove everything in "+args[0], "emptying the directory", func(ctx context.Context, client *csiproxy.Client) error {
			_, err := client.Filesystem.RmdirContents(ctx, &filesystemapi.RmdirContentsRequest{Path: args[0]})
			return err
		})
		d.effect = "Files in it are lost. What links and mount points lead to is not touched."
		return d, nil
	})
}

func pathDeed(path, what, doing string, do func(context.Context, *csiproxy.Client) error) deed {
	return deed{what: what, doing: doing, do: do, look: func(ctx context.Context, client *csiproxy.Client) ([]string, error) {
		return describePath(ctx, client, path)
	}}
}
