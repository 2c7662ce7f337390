// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/internal/buildversion"
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
	return a.runs(c, func(ctx context.Context, _ []string) (answer, error) {
		list, _, err := a.servedAPIs(ctx)
		rows, names := []string{"GROUP\tVERSION\tENDPOINT"}, []string{}
		for _, api := range list {
			rows = append(rows, api.Group+"\t"+api.Version+"\t"+api.Endpoint)
			names = append(names, api.Group+"/"+api.Version)
		}
		return answer{value: map[string][]apiRow{"apis": list}, rows: rows, names: names}, err
	})
}

// servedAPIs returns the versions that the agent serves, and whether it found them by trying all endpoints, because
// there is no admin endpoint to ask. If no endpoint answers, it returns the error of the admin endpoint.
func (a *connection) servedAPIs(ctx context.Context) (list []apiRow, tried bool, err error) {
	r, err := invoke(ctx, a, admin.AdminClient.ListAPIs, &admin.ListAPIsRequest{})
	for _, api := range r.GetApis() {
		list = append(list, apiRow{api.GetGroup(), api.GetVersion(), api.GetEndpoint()})
	}
	if !withoutAdmin(err) {
		return list, false, err
	}
	ctx, cancel := a.limited(ctx)
	defer cancel()
	for _, e := range a.tryEndpoints(ctx) {
		if e.State == doctor.Answers {
			list = append(list, apiRow{e.Group, e.Version, e.Address})
		}
	}
	if len(list) == 0 {
		return nil, true, err
	}
	return list, true, nil
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

// versionView is the versions of this program and of the agent.
type versionView struct {
	Client struct {
		Version  string `json:"version"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
	} `json:"client"`
	// Agent is null if there is no agent to ask.
	Agent *agentVersion `json:"agent"`
}

type agentVersion struct {
	Version string `json:"version"` // "" if the agent does not tell
}

func versionCommand(a *connection) *cobra.Command {
	c := a.command("version", "Print the versions of this program and of the agent")
	c.Long = c.Short + `. Without an agent, the exit code is 0 as well.
csi-proxyctl --version prints this program's alone.`
	c.RunE = func(c *cobra.Command, _ []string) error {
		v, why := a.versions(c.Context())
		rows := []string{"client\t" + v.Client.Version + "\t" + v.Client.Go + " " + v.Client.Platform}
		switch {
		case v.Agent == nil:
			rows = append(rows, "agent\tnone\t"+why.Error())
		case v.Agent.Version == "":
			rows = append(rows, "agent\tunknown\tit does not tell")
		default:
			rows = append(rows, "agent\t"+v.Agent.Version)
		}
		return a.printAnswer(c, answer{value: v, rows: rows, names: []string{v.Client.Version}})
	}
	return c
}

// versions returns the versions, and why that of the agent is missing.
func (a *connection) versions(ctx context.Context) (v versionView, why error) {
	v.Client.Version, v.Client.Go, v.Client.Platform = buildversion.String(), runtime.Version(),
		fmt.Sprintf("%s/%s", runtime.GOOS, runtime.GOARCH)
	r, why := invoke(ctx, a, admin.AdminClient.ListAPIs, &admin.ListAPIsRequest{})
	if why == nil {
		v.Agent = &agentVersion{r.GetAgentVersion()}
	}
	if v.Agent == nil && withoutAdmin(why) && a.serves() {
		v.Agent = &agentVersion{}
	}
	return v, why
}
