// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/buildversion"
)

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
	why = a.call(ctx, func(ctx context.Context, client *adminclient.Client) error {
		r, err := client.ListAPIs(ctx, &admin.ListAPIsRequest{})
		if err == nil {
			v.Agent = &agentVersion{r.GetAgentVersion()}
		}
		return err
	})
	if v.Agent == nil && withoutAdmin(why) && a.serves() {
		v.Agent = &agentVersion{}
	}
	return v, why
}
