// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	fsapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
)

func fsGroup(a *connection) *cobra.Command {
	remove := &fsapi.RmdirRequest{}
	rmdir := asks(changeWith(a, "rmdir", "Remove an empty directory, a link or a mount point", remove,
		fsapi.FilesystemClient.Rmdir, "PATH"),
		"A directory must be empty; with --force, files in it are lost. The target of a link or a mount point is not touched.")
	rmdir.Flags().BoolVar(&remove.Force, "force", false,
		"remove a directory with all its content, and do nothing if the path is missing")
	c := group("fs", "Make and remove directories and links",
		query(a, "exists", "Print whether there is anything at a path", fsapi.FilesystemClient.PathExists,
			func(args []string, r *fsapi.PathExistsResponse) answer {
				return yesNo(args[0], "exists", r.GetExists())
			}, "PATH"),
		query(a, "is-link", "Print whether a path is a link or mount point that leads somewhere",
			fsapi.FilesystemClient.IsSymlink,
			func(args []string, r *fsapi.IsSymlinkResponse) answer {
				return yesNo(args[0], "isLink", r.GetIsSymlink())
			}, "PATH"),
		change(a, "mkdir", "Make a directory, with its parents", fsapi.FilesystemClient.Mkdir, "PATH"),
		change(a, "link", "Make a directory link at a path that leads to a source", fsapi.FilesystemClient.CreateSymlink,
			"SOURCE", "PATH"),
		rmdir,
		asks(change(a, "rmdir-contents", "Remove everything in a directory but keep the directory",
			fsapi.FilesystemClient.RmdirContents, "PATH"),
			"Files in it are lost. The targets of links and mount points are not touched."))
	c.Long = c.Short + `.

A PATH is a Windows path in a working directory of the agent, such as kubelet's. Quote it, because shells interpret \.`
	c.Example = `  csi-proxyctl fs exists 'C:\var\lib\kubelet\pods'`
	return c
}
