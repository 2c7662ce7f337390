// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	smbapi "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
)

func smbGroup(a *connection) *cobra.Command {
	return group("smb", "Map SMB shares for the whole node",
		a.runs(a.command("list", "List the shares that are mapped, also those that others mapped, and whether they work"),
			a.listMappings),
		mapCommand(a),
		asks(change(a, "unmap", "Remove the mapping of a share; links to it stay", smbapi.SmbClient.RemoveSmbGlobalMapping,
			"SHARE"), "All volumes of this node on the share lose it, even those of other drivers and those with open files."))
}

func mapCommand(a *connection) *cobra.Command {
	request := &smbapi.NewSmbGlobalMappingRequest{}
	c := changeWith(a, "map", "Map a share, and make a link to it at a path", request,
		smbapi.SmbClient.NewSmbGlobalMapping, "SHARE", "[PATH]")
	c.Long = `Map a share, \\server\share or a directory in it, and make a link to it at a path, if one is given.

A mapping that works is left as it is, whatever the credentials. The password is read from a file, or from standard
input with -, so that it is not in the list of processes. One line end after it is not part of it.`
	c.Example = `  csi-proxyctl smb map '\\fs.example\share' 'C:\var\lib\kubelet\smb' --user 'X\csi' --password-file -`
	c.Flags().StringVar(&request.Username, "user", "", "`name` of the account, with its domain if it has one")
	first(c, passwordFlag(c, "`file` with the password; -: standard input", &request.Password))
	required(c, "user", "password-file")
	return c
}

// mappings returns the SMB mappings, which only the admin endpoint knows. No file server is asked.
func (a *connection) mappings(ctx context.Context) ([]*admin.SMBMapping, error) {
	r, err := a.inspection(ctx, "SMB mappings")
	return r.GetSmbMappings(), err
}

// inspection returns what only the admin endpoint knows. It fails if the agent cannot tell the part that is needed: an
// empty list would look as if there were nothing.
func (a *connection) inspection(ctx context.Context, part string) (*admin.InspectResponse, error) {
	r, err := invoke(ctx, a, admin.AdminClient.Inspect, &admin.InspectRequest{})
	for _, missing := range r.GetMissing() {
		if strings.HasPrefix(missing, part+":") {
			return nil, failure{status.Error(codes.Unavailable, missing)}
		}
	}
	return r, err
}

// describeMapping describes the mapping through which a path on a share is reached. An agent without an admin endpoint
// knows nothing of it.
func describeMapping(ctx context.Context, a *connection, args []string) ([]string, error) {
	path := args[len(args)-1]
	list, err := a.mappings(ctx)
	if err != nil {
		return nil, nil //nolint:nilerr // the plan lacks this line then
	}
	for _, m := range list {
		if share := m.GetRemotePath(); strings.HasPrefix(strings.ToLower(path)+`\`, strings.ToLower(share)+`\`) {
			return []string{share + ": mapped, " + m.GetStatus()}, nil
		}
	}
	return []string{path + ": not mapped"}, nil
}

// mappingRow is a mapped share.
type mappingRow struct {
	Share  string `json:"share"`
	Status string `json:"status"`
}

func (a *connection) listMappings(ctx context.Context, _ []string) (answer, error) {
	mapped, err := a.mappings(ctx)
	list, rows := []mappingRow{}, []string{"SHARE\tSTATUS"}
	for _, m := range mapped {
		list = append(list, mappingRow{m.GetRemotePath(), m.GetStatus()})
		rows = append(rows, m.GetRemotePath()+"\t"+m.GetStatus())
	}
	return answer{value: map[string]any{"mappings": list}, rows: rows}, err
}
