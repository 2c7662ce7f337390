// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/doctor"
	"github.com/kubernetes-csi/csi-proxy/internal/winservice"
)

func systemGroup(a *connection) *cobra.Command {
	stopped := &csiproxy.StopServiceRequest{}
	stop := destructive(changeWith(a, "stop", "Stop a service and wait until it has stopped", stopped,
		csiproxy.SystemClient.StopService, "SERVICE"),
		"While services that depend on it run, it is refused; with --force they are stopped too, and are not started again.")
	stop.Flags().BoolVar(&stopped.Force, "force", false,
		"stop the services that depend on it first; they are not started again")
	return group("system", "Print the node's serial number; look at, start and stop Windows services",
		query(a, "serial", "Print the serial number from the node's firmware",
			csiproxy.SystemClient.GetBIOSSerialNumber, nil),
		group("service", "Look at, start and stop a Windows service",
			a.runs(a.command("list", "List the services that storage needs, with their state"), a.listStorageServices),
			query(a, "get", "Print whether a service runs and when it starts", csiproxy.SystemClient.GetService,
				func(args []string, r *csiproxy.GetServiceResponse) answer {
					value, row := viewOf(args[0], r).row()
					return answer{value: value, rows: []string{serviceHead, cells(row...)}}
				}, "SERVICE"),
			change(a, "start", "Start a service, and those that it depends on, and wait until it runs",
				csiproxy.SystemClient.StartService, "SERVICE"),
			stop))
}

// A serviceView is a service in the output.
type serviceView struct {
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
	Status      string `json:"status"`
	StartType   string `json:"startType"`
}

const serviceHead = "NAME\tSTATUS\tSTART\tDISPLAY NAME"

func (s serviceView) row() (value any, cells []any) {
	return s, []any{s.Name, s.Status, s.StartType, s.DisplayName}
}

func viewOf(name string, r *csiproxy.GetServiceResponse) serviceView {
	return serviceView{Name: name, DisplayName: r.GetDisplayName(), Status: word(r.GetStatus()),
		StartType: word(r.GetStartType())}
}

// storageServices are the services that storage needs, and those that run an agent.
func storageServices() []doctor.Service {
	list := []doctor.Service{{Name: "LanmanWorkstation"}, {Name: "MSiSCSI"}}
	for _, a := range agentServices() {
		list = append(list, doctor.Service{Name: a.Name, Agent: true, Wrapper: a.Wrapper})
	}
	return list
}

// agentServices returns the services of this machine that run an agent, or else the usual one.
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

// listStorageServices queries each service, because the API does not list them.
func (a *connection) listStorageServices(ctx context.Context, _ []string) (answer, error) {
	var list []serviceView
	for _, one := range storageServices() {
		s, err := a.service(ctx, one.Name)
		if status.Code(err) == codes.NotFound {
			s, err = serviceView{Name: one.Name, Status: "not installed", StartType: "-"}, nil
		}
		if err != nil {
			return answer{}, err
		}
		list = append(list, s)
	}
	return table("services", serviceHead, list, serviceView.row), nil
}

func (a *connection) service(ctx context.Context, name string) (serviceView, error) {
	r, err := invoke(ctx, a, csiproxy.SystemClient.GetService, &csiproxy.GetServiceRequest{Name: name})
	return viewOf(name, r), err
}
