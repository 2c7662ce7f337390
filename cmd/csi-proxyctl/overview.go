// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io/fs"
	"runtime"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/buildversion"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/doctor"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

func apisCommand(a *connection) *cobra.Command {
	c := a.command("apis", "List the API groups and versions that the agent serves")
	c.Long = c.Short + `.

An agent with an admin endpoint lists them itself. Without one, the command tries every endpoint.`
	return a.runs(c, func(ctx context.Context, _ []string) (answer, error) {
		r, err := invoke(ctx, a, admin.AdminClient.ListAPIs, &admin.ListAPIsRequest{})
		list := r.GetApis()
		if adminMissing(err) {
			for _, e := range a.tryEndpoints(ctx) {
				if e.State == doctor.Answers { // else the admin endpoint's error says that there is no agent
					list, err = append(list, &admin.API{Group: e.Group, Version: e.Version, Endpoint: e.Address}), nil
				}
			}
		}
		found := table("apis", "GROUP\tVERSION\tENDPOINT", list, func(api *admin.API) (any, []any) {
			return message{api}, []any{api.GetGroup(), api.GetVersion(), api.GetEndpoint()}
		})
		found.names = namesOf(list, func(api *admin.API) string { return api.GetGroup() + "/" + api.GetVersion() })
		return found, err
	})
}

// adminMissing reports whether an error means that this process cannot use the admin endpoint. The agent may be an
// older one, or only its driver endpoints may be mounted into this container.
func adminMissing(err error) bool {
	return errors.As(err, new(*dial.Error)) || status.Code(err) == codes.Unimplemented
}

// adminMissingText returns the text for an agent that runs without an admin endpoint.
func adminMissingText(err error) string {
	at := (*dial.Error)(nil)
	switch {
	case !errors.As(err, &at):
		return "the agent is older than " + adminclient.FactsSince + ", and does not tell it"
	case errors.Is(err, fs.ErrPermission):
		return err.Error()
	default:
		return "the agent has no admin endpoint here: nothing answers at " + at.Address
	}
}

func versionCommand(a *connection) *cobra.Command {
	c := a.command("version", "Print the versions of this program and of the agent")
	c.Long = c.Short + `. Without an agent, the exit code is 0 as well.
csi-proxyctl --version prints this program's alone.`
	c.RunE = func(c *cobra.Command, _ []string) error {
		client := map[string]string{"version": buildversion.String(), "go": runtime.Version(),
			"platform": runtime.GOOS + "/" + runtime.GOARCH}
		var agent map[string]string // nil: none; without a version: it does not report it
		r, err := invoke(c.Context(), a, admin.AdminClient.ListAPIs, &admin.ListAPIsRequest{})
		if err == nil || adminMissing(err) && a.serves() {
			agent = map[string]string{"version": r.GetAgentVersion()}
		}
		unknown := "this agent does not report its version"
		if status.Code(err) == codes.DeadlineExceeded {
			agent, unknown = map[string]string{"version": ""}, err.Error()
		}
		rows := []string{"client\t" + client["version"] + "\t" + client["go"] + " " + client["platform"]}
		switch {
		case agent == nil:
			rows = append(rows, "agent\tnone\t"+err.Error())
		case agent["version"] == "":
			rows = append(rows, "agent\tunknown\t"+unknown)
		default:
			rows = append(rows, "agent\t"+agent["version"])
		}
		return a.printAnswer(c, answer{value: map[string]any{"client": client, "agent": agent}, rows: rows,
			names: []string{client["version"]}})
	}
	return c
}

func treeCommand(a *connection) *cobra.Command {
	c := a.command("tree", "Draw the node's disks, partitions, volumes and mount points")
	c.Long = c.Short + `.

If the agent has no admin endpoint, the tree shows what the storage API shows, and a list below names what is missing.`
	c.RunE = func(c *cobra.Command, _ []string) error {
		tree, err := a.tree(c.Context())
		if err != nil {
			return err
		}
		if tree.NoAdmin != nil {
			tree.Missing = append(tree.Missing, adminMissingText(tree.NoAdmin))
		}
		if a.output.forPeople() {
			if err := treeview.Write(c.OutOrStdout(), tree); err != nil || len(tree.Unknown) == 0 {
				return err
			}
			return failedWith(codes.Unavailable, "this is incomplete; csi-proxyctl doctor shows what hangs")
		}
		return a.printAnswer(c, answer{value: tree, lists: true})
	}
	return c
}

// tree reads the node's storage once, from the admin endpoint or else from the storage API, and notes what is unknown.
// Only the admin endpoint has more parts.
func (a *connection) tree(ctx context.Context, more ...admin.Part) (*treeview.Tree, error) {
	r, err := a.seen(ctx, append(more, treeview.Parts()...)...)
	tree := treeview.FromFacts(r)
	if adminMissing(err) {
		ctx, cancel := a.limited(ctx)
		defer cancel()
		noAdmin := err
		if tree, err = treeview.FromAPI(ctx, a.client(), a.reason); err != nil {
			return nil, a.explain(ctx, err)
		}
		tree.NoAdmin = noAdmin
	}
	a.addGaps(tree.Unknown)
	return tree, err
}
