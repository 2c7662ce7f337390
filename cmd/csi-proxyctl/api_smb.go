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
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
)

func smbGroup(a *connection) *cobra.Command {
	return group("smb", "Map SMB shares for the whole node",
		a.admin(a.command("list", "List the shares that are mapped, also those that others mapped, and whether they work"),
			listMappings),
		mapCommand(a),
		asks(a.storage(a.command("unmap", "Remove the mapping of a share; links to it stay", "SHARE"),
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				return done(client.SMB.RemoveSmbGlobalMapping(ctx, &smbapi.RemoveSmbGlobalMappingRequest{RemotePath: args[0]}))
			}), "All volumes of this node on the share lose it, even those of other drivers and those with open files."))
}

func mapCommand(a *connection) *cobra.Command {
	c := a.command("map", "Map a share, and make a link to it at a path", "SHARE", "[PATH]")
	c.Long = `Map a share, \\server\share or a directory in it, and make a link to it at a path, if one is given.

A mapping that works is left as it is, whatever the credentials. The password is read from a file, or from standard
input with -, so that it is not in the list of processes. One line end after it is not part of it.`
	c.Example = `  csi-proxyctl smb map '\\fs.example\share' 'C:\var\lib\kubelet\smb' --user 'X\csi' --password-file -`
	request := &smbapi.NewSmbGlobalMappingRequest{}
	c.Flags().StringVar(&request.Username, "user", "", "`name` of the account, with its domain if it has one")
	password := passwordFlag(c, "`file` with the password; -: standard input")
	required(c, "user", "password-file")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if request.Password, err = password(); err != nil {
			return err
		}
		request.RemotePath, request.LocalPath = args[0], append(args, "")[1]
		return a.runStorage(c, args, func(ctx context.Context, client *csiproxy.Client, _ []string) (answer, error) {
			return done(client.SMB.NewSmbGlobalMapping(ctx, request))
		})
	}
	return change(c)
}

// describeMapping describes the mapping through which a path on a share is reached. An agent without an admin endpoint
// knows nothing of it.
func describeMapping(ctx context.Context, a *connection, _ *csiproxy.Client, args []string) ([]string, error) {
	path := args[len(args)-1]
	return asked(ctx, a, func(ctx context.Context, client *adminclient.Client) []string {
		r, err := client.Inspect(ctx, &admin.InspectRequest{})
		if partOf(r, "SMB mappings", err) != nil {
			return nil
		}
		for _, m := range r.GetSmbMappings() {
			if share := m.GetRemotePath(); strings.HasPrefix(strings.ToLower(path)+`\`, strings.ToLower(share)+`\`) {
				return []string{share + ": mapped, " + m.GetStatus()}
			}
		}
		return []string{path + ": not mapped"}
	}), nil
}

// mappingRow is a mapped share.
type mappingRow struct {
	Share  string `json:"share"`
	Status string `json:"status"`
}

// listMappings lists the mapped shares, which only the admin endpoint knows. No file server is asked.
func listMappings(ctx context.Context, client *adminclient.Client, _ []string) (answer, error) {
	r, err := client.Inspect(ctx, &admin.InspectRequest{})
	if err := partOf(r, "SMB mappings", err); err != nil {
		return answer{}, err
	}
	list, rows := []mappingRow{}, []string{"SHARE\tSTATUS"}
	for _, m := range r.GetSmbMappings() {
		list = append(list, mappingRow{m.GetRemotePath(), m.GetStatus()})
		rows = append(rows, m.GetRemotePath()+"\t"+m.GetStatus())
	}
	return answer{value: map[string]any{"mappings": list}, rows: rows}, nil
}

// partOf returns an error if an inspection lacks a part: a list without it would look as if there were nothing.
func partOf(r *admin.InspectResponse, what string, err error) error {
	if err != nil {
		return err
	}
	for _, missing := range r.GetMissing() {
		if strings.HasPrefix(missing, what+":") {
			return status.Error(codes.Unavailable, missing)
		}
	}
	return nil
}
