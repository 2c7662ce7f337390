// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	nodestepsapi "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// stageCommand stages a disk in one call, as a driver does.
func stageCommand(a *connection) *cobra.Command {
	request := &nodestepsapi.StageDiskRequest{}
	c := changeWith(a, "stage", "Partition, format and mount a disk as a driver stages it, in one call", request,
		csiproxy.NodestepsClient.StageDisk, "PATH")
	c.Long = c.Short + `.

What holds anything is neither partitioned nor formatted. --allow adds to the access list of the root directory of a
volume that holds nothing yet. ContainerUser is S-1-5-93-2-2.`
	c.Example = `  csi-proxyctl disk stage 'C:\var\lib\kubelet\plugins\mnt' --disk 1 --allow S-1-5-93-2-2=modify`
	number := c.Flags().Uint32("disk", 0, "`number` of the disk")
	allow := c.Flags().StringArray("allow", nil, "`SID=RIGHTS`, with the rights read, modify or full; may be repeated")
	required(c, "disk")
	return prepared(c, func([]string) error {
		request.Disk = &nodestepsapi.StageDiskRequest_DiskNumber{DiskNumber: *number}
		for _, text := range *allow {
			sid, rights, _ := strings.Cut(text, "=")
			known := nodestepsapi.AccessRights_value["ACCESS_RIGHTS_"+strings.ToUpper(rights)]
			request.Access = append(request.Access, &nodestepsapi.AccessEntry{Sid: sid,
				Rights: nodestepsapi.AccessRights(known)})
		}
		return nil
	})
}

// accessCommand shows the access list of a volume of an emulated node.
func accessCommand(a *connection) *cobra.Command {
	return query(a, "access", "Print the access list of the root directory of the volume at a path",
		nodeClient.GetAccess, func(_ []string, r *admin.GetAccessResponse) answer {
			found := answer{value: message{r}, rows: []string{"SID\tRIGHTS\tINHERITED"}}
			for _, e := range r.GetEntries() {
				found.rows = append(found.rows, cells(e.GetSid(), rightsText(e.GetMask()), e.GetInherited()))
			}
			return found
		}, "WINPATH")
}

// rightsText returns the name of a set of rights, or the mask.
func rightsText(mask uint32) string {
	switch mask {
	case 0x1200a9:
		return "read"
	case 0x1301bf:
		return "modify"
	case 0x1f01ff:
		return "full"
	}
	return fmt.Sprintf("%#x", mask)
}
