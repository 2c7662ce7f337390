// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

func systemGroup(a *connection) *cobra.Command {
	return group("system", "Print the node's serial number; look at, start and stop Windows services",
		a.storage(&cobra.Command{Use: "serial", Short: "Print the serial number from the node's firmware"},
			"asking for the serial number",
			func(ctx context.Context, client *csiproxy.Client, _ []string) (answer, error) {
				r, err := client.System.GetBIOSSerialNumber(ctx, &systemapi.GetBIOSSerialNumberRequest{})
				return answer{value: map[string]string{"serialNumber": r.GetSerialNumber()}, rows: []string{r.GetSerialNumber()}},
					err
			}),
		group("service", "Look at, start and stop a Windows service",
			a.storage(&cobra.Command{Use: "list", Short: "List the services that storage needs, with their state"},
				"asking for the services", listStorageServices),
			a.storage(&cobra.Command{Use: "get SERVICE", Short: "Print whether a service runs and when it starts"},
				"asking for the service",
				func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
					s, err := getService(ctx, client, args[0])
					return answer{value: s, rows: []string{serviceHead, s.row()}}, err
				}),
			change(a.storage(&cobra.Command{Use: "start SERVICE", Short: "Start a service, and those that it depends on, and " +
				"wait until it runs"}, "starting the service",
				func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
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

// storageServices are the services that storage needs, and the agent's own.
func storageServices() []string { return []string{"LanmanWorkstation", "MSiSCSI", "csiproxy"} }

// listStorageServices lists them. The API lists no services, but answers for each.
func listStorageServices(ctx context.Context, client *csiproxy.Client, _ []string) (answer, error) {
	list, rows := []serviceView{}, []string{serviceHead}
	for _, name := range storageServices() {
		s, err := getService(ctx, client, name)
		if status.Code(err) == codes.NotFound {
			s, err = serviceView{Name: name, Status: "not installed", StartType: "-"}, nil
		}
		if err != nil {
			return answer{}, err
		}
		list, rows = append(list, s), append(rows, s.row())
	}
	return answer{value: map[string]any{"services": list}, rows: rows}, nil
}

// describeService describes a service.
func describeService(ctx context.Context, client *csiproxy.Client, name string) ([]string, error) {
	s, err := getService(ctx, client, name)
	return []string{"Service " + s.Name + " (" + s.DisplayName + "): " + s.Status + ", starts " + s.StartType}, err
}

func getService(ctx context.Context, client *csiproxy.Client, name string) (serviceView, error) {
	r, err := client.System.GetService(ctx, &systemapi.GetServiceRequest{Name: name})
	return serviceView{Name: name, DisplayName: r.GetDisplayName(), Status: word(r.GetStatus(), ""),
		StartType: word(r.GetStartType(), "")}, err
}

func stopServiceCommand(a *connection) *cobra.Command {
	c := &cobra.Command{Use: "stop SERVICE", Short: "Stop a service and wait until it has stopped"}
	force := c.Flags().Bool("force", false, "stop the services that depend on it first; they are not started again")
	return a.deed(c, func(args []string) deed {
		d := deed{
			what: "stop the service " + args[0], doing: "stopping the service",
			effect: "It is refused while services that depend on it run.",
			look: func(ctx context.Context, client *csiproxy.Client) ([]string, error) {
				return describeService(ctx, client, args[0])
			},
			do: func(ctx context.Context, client *csiproxy.Client) (answer, error) {
				return done(client.System.StopService(ctx, &systemapi.StopServiceRequest{Name: args[0], Force: *force}))
			},
		}
		if *force {
			d.what += ", and those that depend on it"
			d.effect = "Services that depend on it are stopped too, and are not started again."
		}
		return d
	})
}
