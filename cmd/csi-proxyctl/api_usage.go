// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

func usageCommand(a *connection) *cobra.Command {
	c := query(a, "usage", "Print how full the volume or the share behind a mount point or link is",
		csiproxy.NodestepsClient.GetUsage, showUsage, "PATH")
	c.Long = c.Short + `.

The server of a share answers for the account with which the share is mapped, so a quota counts. Windows does not count
inodes.`
	return c
}

func showUsage(args []string, r *csiproxy.GetUsageResponse) answer {
	return answer{
		value: map[string]any{"totalBytes": r.GetTotalBytes(), "usedBytes": r.GetUsedBytes(),
			"availableBytes": r.GetAvailableBytes(), "inodes": nil},
		rows: []string{"\tBYTES\t", inBytes("total", r.GetTotalBytes()), inBytes("used", r.GetUsedBytes()),
			inBytes("available", r.GetAvailableBytes()), "inodes\t-\t(not on Windows)"},
		names: args,
	}
}
