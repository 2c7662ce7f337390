// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"

	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

func systemGroup(a *connection) *cobra.Command {
	return group("system", "Print the node's serial number; look at, start and stop Windows services",
		a.storage(&cobra.Command{Use: "serial", Short: "Print the serial number from the node's firmware"}, "asking for the serial number",
			func(ctx context.Context, client *csiproxy.Client, _ []string) (answer, error) {
				r, err := client.System.GetBIOSSerialNumber(ctx, &systemapi.GetBIOSSerialNumberRequest{})
				return answer{map[string]string{"serialNumber": r.GetSerialNumber()}, []string{r.GetSerialNumber()}}, err
			}),
		group("service", "Look at, start and stop a Windows service",
			a.storage(&cobra.Command{Use: "get NAME", Short: "Print whether a service runs and when it starts"}, "asking for the service",
				func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
					s, err := getService(ctx, client, args[0])
					return answer{s, []string{"NAME\tSTATUS\tSTART\tDISPLAY NAME", s.Name + "\t" + s.Status + "\t" + s.StartType + "\t" + s.DisplayName}}, err
				}),
			a.storage(&cobra.Command{Use: "start NAME", Short: "Start a service, and those that it depends on, and wait until it runs"}, "starting the service",
				func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
					return done(client.System.StartService(ctx, &systemapi.StartServiceRequest{Name: args[0]}))
				}),
			stopServiceCommand(a)))
}

// serviceView is a service as it is printed.
type serviceView struct {
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
	Status      string `json:"status"`
	StartType   string `json:"startType"`
}

func getService(ctx context.Context, client *csiproxy.Client, name string) (serviceView, error) {
	r, err := client.System.GetService(ctx, &systemapi.GetServiceRequest{Name: name})
	return serviceView{Name: name, DisplayName: r.GetDisplayName(), Status: word(r.GetStatus(), ""), StartType: word(r.GetStartType(), "")}, err
}

func stopServiceCommand(a *connection) *cobra.Command {
	c := &cobra.Command{Use: "stop NAME", Short: "Stop a service and wait until it has stopped"}
	force := c.Flags().Bool("force", false, "stop the services that depend on it first; they are not started again")
	return a.deed(c, func(args []string) deed {
		d := deed{
			what: "stop the service " + args[0], doing: "stopping the service",
			effect: "It is refused while services that depend on it run.",
			look: func(ctx context.Context, client *csiproxy.Client) ([]string, error) {
				s, err := getService(ctx, client, args[0])
				return []string{"Service " + s.Name + " (" + s.DisplayName + "): " + s.Status + ", starts " + s.StartType}, err
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
