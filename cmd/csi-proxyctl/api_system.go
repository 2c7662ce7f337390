// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"

	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

func systemGroup(a *connection) *cobra.Command {
	return groupCommand("system", "Ask for the node's serial number; look at, start and stop Windows services",
		serialCommand(a),
		groupCommand("service", "Look at, start and stop a Windows service", getServiceCommand(a), startServiceCommand(a), stopServiceCommand(a)))
}

func serialCommand(a *connection) *cobra.Command {
	return apiCommand(a, &cobra.Command{
		Use: "serial", Short: "Print the serial number that the node's firmware tells", Args: cobra.NoArgs,
	}, "asking for the serial number", func(ctx context.Context, c *cobra.Command, client *csiproxy.Client, _ []string) error {
		r, err := client.System.GetBIOSSerialNumber(ctx, &systemapi.GetBIOSSerialNumberRequest{})
		if err != nil {
			return err
		}
		return a.print(c, map[string]string{"serialNumber": r.GetSerialNumber()}, r.GetSerialNumber())
	})
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

func getServiceCommand(a *connection) *cobra.Command {
	return apiCommand(a, &cobra.Command{
		Use: "get NAME", Short: "Print what a service does and when it starts", Args: cobra.ExactArgs(1), ValidArgsFunction: completeServices,
	}, "asking for the service", func(ctx context.Context, c *cobra.Command, client *csiproxy.Client, args []string) error {
		s, err := getService(ctx, client, args[0])
		if err != nil {
			return err
		}
		return a.print(c, s, "NAME\tSTATUS\tSTART\tDISPLAY NAME", s.Name+"\t"+s.Status+"\t"+s.StartType+"\t"+s.DisplayName)
	})
}

func startServiceCommand(a *connection) *cobra.Command {
	return apiCommand(a, &cobra.Command{
		Use: "start NAME", Short: "Start a service, and those that it depends on, and wait until it runs", Args: cobra.ExactArgs(1), ValidArgsFunction: completeServices,
	}, "starting the service", func(ctx context.Context, _ *cobra.Command, client *csiproxy.Client, args []string) error {
		_, err := client.System.StartService(ctx, &systemapi.StartServiceRequest{Name: args[0]})
		return err
	})
}

func stopServiceCommand(a *connection) *cobra.Command {
	c := &cobra.Command{Use: "stop NAME", Short: "Stop a service and wait until it has stopped", Args: cobra.ExactArgs(1), ValidArgsFunction: completeServices}
	force := c.Flags().Bool("force", false, "stop the services that depend on it first; they are not started again")
	return deedCommand(a, c, func(args []string) (deed, error) {
		d := deed{
			what: "stop the service " + args[0], doing: "stopping the service",
			effect: "While services that depend on it run, it is refused.",
			look: func(ctx context.Context, client *csiproxy.Client) ([]string, error) {
				s, err := getService(ctx, client, args[0])
				return []string{"Service " + s.Name + " (" + s.DisplayName + "): " + s.Status + ", starts " + s.StartType}, err
			},
			do: func(ctx context.Context, client *csiproxy.Client) error {
				_, err := client.System.StopService(ctx, &systemapi.StopServiceRequest{Name: args[0], Force: *force})
				return err
			},
		}
		if *force {
			d.what += ", and those that depend on it"
			d.effect = "Services that depend on it are stopped too, and are not started again."
		}
		return d, nil
	})
}
