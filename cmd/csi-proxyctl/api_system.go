// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/doctor"
	"github.com/kubernetes-csi/csi-proxy/internal/winservice"
)

func systemGroup(a *connection) *cobra.Command {
	return group("system", "Print the node's serial number; look at, start and stop Windows services",
		a.storage(a.command("serial", "Print the serial number from the node's firmware"),
			func(ctx context.Context, client *csiproxy.Client, _ []string) (answer, error) {
				r, err := client.System.GetBIOSSerialNumber(ctx, &systemapi.GetBIOSSerialNumberRequest{})
				return answer{value: map[string]string{"serialNumber": r.GetSerialNumber()}, rows: []string{r.GetSerialNumber()}},
					err
			}),
		group("service", "Look at, start and stop a Windows service",
			a.storage(a.command("list", "List the services that storage needs, with their state"), listStorageServices),
			a.storage(a.command("get", "Print whether a service runs and when it starts", "SERVICE"),
				func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
					s, err := getService(ctx, client, args[0])
					return answer{value: s, rows: []string{serviceHead, s.row()}}, err
				}),
			change(a.storage(a.command("start", "Start a service, and those that it depends on, and wait until it runs",
				"SERVICE"), func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				return done(client.System.StartService(ctx, &systemapi.StartServiceRequest{Name: args[0]}))
			})),
			stopServiceCommand(a)))
}

// serviceView is a service as it is printed.
type serviceView struct {
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
	Status      string `json:"status"`
	StartType   string `json:"startType"`
}

const serviceHead = "NAME\tSTATUS\tSTART\tDISPLAY NAME"

func (s serviceView) row() string {
	return s.Name + "\t" + s.Status + "\t" + s.StartType + "\t" + orDash(s.DisplayName)
}

// storageServices are the services that storage needs, and those that run an agent.
func storageServices() []doctor.Service {
	list := []doctor.Service{{Name: "LanmanWorkstation"}, {Name: "MSiSCSI"}}
	for _, a := range agentServices() {
		list = append(list, doctor.Service{Name: a.Name, Agent: true, Wrapper: a.Wrapper})
	}
	return list
}

// agentServices returns the services of this machine that run an agent, or the usual one, if this is not a node.
func agentServices() []winservice.Agent {
	usual := []winservice.Agent{{Name: "csiproxy"}}
	scm, err := winservice.Connect()
	if err != nil {
		return usual
	}
	defer func() { _ = scm.Close() }()
	if agents, err := scm.Agents(); err == nil && len(agents) > 0 {
		return agents
	}
	return usual
}

// listStorageServices lists them. The API lists no services, but answers for each.
func listStorageServices(ctx context.Context, client *csiproxy.Client, _ []string) (answer, error) {
	list, rows := []serviceView{}, []string{serviceHead}
	for _, one := range storageServices() {
		s, err := getService(ctx, client, one.Name)
		if status.Code(err) == codes.NotFound {
			s, err = serviceView{Name: one.Name, Status: "not installed", StartType: "-"}, nil
		}
		if err != nil {
			return answer{}, err
		}
		list, rows = append(list, s), append(rows, s.row())
	}
	return answer{value: map[string]any{"services": list}, rows: rows}, nil
}

func getService(ctx context.Context, client *csiproxy.Client, name string) (serviceView, error) {
	r, err := client.System.GetService(ctx, &systemapi.GetServiceRequest{Name: name})
	return serviceView{Name: name, DisplayName: r.GetDisplayName(), Status: word(r.GetStatus(), ""),
		StartType: word(r.GetStartType(), "")}, err
}

// word returns the value of an enum as people write it: "start-pending".
func word(value fmt.Stringer, prefix string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(value.String(), prefix), "_", "-"))
}

func stopServiceCommand(a *connection) *cobra.Command {
	c := a.command("stop", "Stop a service and wait until it has stopped", "SERVICE")
	force := c.Flags().Bool("force", false, "stop the services that depend on it first; they are not started again")
	return asks(a.storage(c, func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
		return done(client.System.StopService(ctx, &systemapi.StopServiceRequest{Name: args[0], Force: *force}))
	}), "While services that depend on it run, it is refused; with --force they are stopped too, and are not "+
		"started again.")
}
