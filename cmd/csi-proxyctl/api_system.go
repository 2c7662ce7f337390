// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winservice"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/doctor"
)

func systemGroup(a *connection) *cobra.Command {
	stopped := &csiproxy.StopServiceRequest{}
	stop := destructive(changeWith(a, "stop", "Stop a service and wait until it has stopped", stopped,
		csiproxy.SystemClient.StopService, "SERVICE"),
		"While services that depend on it run, it is refused; with --force they are stopped too, and are not started again.")
	stop.Flags().BoolVar(&stopped.Force, "force", false,
		"stop the services that depend on it first; they are not started again")
	stop.SuggestFor = []string{"restart"}
	get := query(a, "get", "Print whether a service runs and when it starts", csiproxy.SystemClient.GetService,
		func(args []string, r *csiproxy.GetServiceResponse) answer {
			value, row := serviceRow(installed(doctor.Service{Name: args[0]}, r))
			return answer{value: value, rows: []string{serviceHead, cells(row...)}}
		}, "SERVICE")
	get.SuggestFor = []string{"status", "query"} // as systemctl and sc.exe have it
	start := change(a, "start", "Start a service, and those that it depends on, and wait until it runs",
		csiproxy.SystemClient.StartService, "SERVICE")
	start.SuggestFor = stop.SuggestFor
	return group("system", "Print the node's serial number; look at, start and stop Windows services",
		query(a, "serial", "Print the serial number from the node's firmware",
			csiproxy.SystemClient.GetBIOSSerialNumber, nil),
		group("service", "Look at, start and stop a Windows service",
			a.runs(a.command("list", "List the services that storage needs, with their state"),
				func(ctx context.Context, _ []string) (answer, error) {
					list, err := a.services(ctx)
					return table("services", serviceHead, list, serviceRow), err
				}),
			get, start, stop))
}

// initiator is the name of Windows' iSCSI service.
const initiator = "MSiSCSI"

const serviceHead = "NAME\tSTATUS\tSTART\tDISPLAY NAME"

func serviceRow(s doctor.Service) (value any, cells []any) {
	s.Status, s.Start = cmp.Or(s.Status, "not installed"), cmp.Or(s.Start, "-")
	return s, []any{s.Name, s.Status, s.Start, s.DisplayName}
}

func installed(s doctor.Service, r *csiproxy.GetServiceResponse) doctor.Service {
	s.Installed, s.DisplayName, s.Status, s.Start = true, r.GetDisplayName(), word(r.GetStatus()), word(r.GetStartType())
	return s
}

// agentServices returns the services of this machine that are an agent's, as far as this process may know.
func agentServices() (agents []winservice.Installed, known bool) {
	scm, err := winservice.Connect()
	if err != nil {
		return nil, false
	}
	defer func() { _ = scm.Close() }()
	agents, err = winservice.Agents(scm)
	return agents, err == nil
}

// wrapper returns what a service runs in place of csi-proxy.exe, such as nssm.exe, which then starts it; "": nothing.
func wrapper(command []string) string {
	program := slices.Concat(command, []string{""})[0]
	if strings.EqualFold(program[strings.LastIndexAny(program, `\/`)+1:], "csi-proxy.exe") {
		return ""
	}
	return program
}

// services queries the services that storage needs, and those of an agent, because the API does not list them. It
// returns those whose state is known, and the first error.
func (a *connection) services(ctx context.Context) (list []doctor.Service, failed error) {
	asked := []doctor.Service{{Name: "LanmanWorkstation"}, {Name: initiator}}
	agents, known := agentServices()
	for _, s := range agents {
		asked = append(asked, doctor.Service{Name: s.Name, Agent: true, Wrapper: wrapper(s.Command)})
	}
	if len(agents) == 0 {
		asked = append(asked, doctor.Service{Name: "csiproxy", Agent: true})
	}
	on, notEmulated := part[[]servicePart](ctx, a, "services")
	// A question about a service that is known not to be there would be a failed call in the agent's log.
	absent := func(s doctor.Service) bool {
		return s.Agent && known && len(agents) == 0 || notEmulated == nil && !slices.ContainsFunc(on,
			func(on servicePart) bool { return strings.EqualFold(on.Name, s.Name) })
	}
	for _, s := range asked {
		if absent(s) {
			list = append(list, s)
			continue
		}
		r, err := invoke(ctx, a, csiproxy.SystemClient.GetService, &csiproxy.GetServiceRequest{Name: s.Name})
		switch {
		case err == nil:
			list = append(list, installed(s, r))
		case status.Code(err) == codes.NotFound:
			list = append(list, s)
		default:
			failed = cmp.Or(failed, fmt.Errorf("service %s: %w", s.Name, err))
		}
	}
	return list, failed
}
