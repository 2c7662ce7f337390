// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io/fs"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/doctor"
)

// apiRow is one version of a group that an agent serves.
type apiRow struct {
	Group    string `json:"group"`
	Version  string `json:"version"`
	Endpoint string `json:"endpoint"`
}

func apisCommand(a *connection) *cobra.Command {
	c := a.command("apis", "List the API groups and versions that the agent serves")
	c.Long = c.Short + `.

An agent with an admin endpoint lists them itself. Without one, the command tries every endpoint.`
	c.RunE = func(c *cobra.Command, _ []string) error {
		list := []apiRow{}
		err := a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
			r, err := client.ListAPIs(ctx, &admin.ListAPIsRequest{})
			for _, api := range r.GetApis() {
				list = append(list, apiRow{api.GetGroup(), api.GetVersion(), api.GetEndpoint()})
			}
			return err
		})
		if withoutAdmin(err) {
			list, err = a.triedAPIs(c.Context(), err)
		}
		if err != nil {
			return err
		}
		rows, names := []string{"GROUP\tVERSION\tENDPOINT"}, []string{}
		for _, api := range list {
			rows = append(rows, api.Group+"\t"+api.Version+"\t"+api.Endpoint)
			names = append(names, api.Group+"/"+api.Version)
		}
		return a.printAnswer(c, answer{value: map[string][]apiRow{"apis": list}, rows: rows, names: names})
	}
	return c
}

// withoutAdmin reports whether an error means that this process cannot use the admin endpoint. An agent may run all the
// same: an older one, or one whose driver endpoints alone are mounted into this container.
func withoutAdmin(err error) bool {
	return errors.As(err, new(*dial.Error)) || status.Code(err) == codes.Unimplemented
}

// noAdmin returns the text that an agent has no admin endpoint, if it is known that there is an agent.
func noAdmin(err error) string {
	at := (*dial.Error)(nil)
	switch {
	case !errors.As(err, &at):
		return "the agent's version does not show it"
	case errors.Is(err, fs.ErrPermission):
		return err.Error()
	default:
		return "the agent has no admin endpoint here: nothing answers at " + at.Address
	}
}

// triedAPIs returns the versions found by trying all endpoints. If none answers, it returns why, the error of the
// admin endpoint.
func (a *connection) triedAPIs(ctx context.Context, why error) ([]apiRow, error) {
	ctx, cancel := a.limited(ctx)
	defer cancel()
	var list []apiRow
	for _, e := range a.tryEndpoints(ctx) {
		if e.State == doctor.Answers {
			list = append(list, apiRow{e.Group, e.Version, e.Address})
		}
	}
	if len(list) == 0 {
		return nil, why
	}
	return list, nil
}
