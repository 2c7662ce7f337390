// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"
)

func smbCommand(a *connection) *cobra.Command {
	// account returns a command that does something with an account that flags describe.
	account := func(name, short string, do verb) *cobra.Command {
		var password string
		c := a.command(name, short)
		c.Example = "  csi-proxyctl node smb " + name + " --user csi --password-file -"
		c.Flags().String("user", "", "`name` of the account")
		required(c, "user")
		a.controls(c, do, "smbUsers", func([]string) (element, error) {
			return with(flagged(c.Flags(), map[string]string{"user": "name", "domain": "domains"}),
				element{"password": password}), nil
		}, nil)
		return passwordFlag(c, "`file` with the password, one line; -: standard input", &password)
	}
	addUser := account("add-user", "Add an account, which all file servers know", add)
	addUser.Flags().StringArray("domain", nil, "`domain` that may stand before the name; may be repeated")
	// server returns a command that changes a file server.
	server := func(name, short string, stopped bool) *cobra.Command {
		return a.controls(a.command(name, short, "SERVER"), modify, "smbServers",
			named("name", element{"stopped": stopped}), nil)
	}
	addShare := a.command("add-share", "Add a share to a file server, which is made if it does not exist", "SERVER",
		"NAME")
	addShare.Flags().StringArray("user", nil, "`account` that may use it; may be repeated (default: all)")
	addShare.Flags().Var(new(size), "size", "of the share; `bytes`, or with a unit: 20Gi (default: 1Ti)")
	addShare.Flags().Var(new(size), "quota", "of each account; `bytes`, or with a unit: 20Gi (default: none)")
	// share returns an element with a share that flags and arguments describe.
	share := func(c *cobra.Command) func([]string) (element, error) {
		return func(args []string) (element, error) {
			of := flagged(c.Flags(), map[string]string{"user": "users", "size": "size", "quota": "quota"})
			return element{"name": args[0], "shares": []element{with(of, element{"name": args[1]})}}, nil
		}
	}
	removeShare := a.command("remove-share", "Remove a share; its files are kept", "SERVER", "NAME")
	return group("smb", "Change file servers, their shares and accounts, and drop sessions",
		a.runs(a.command("list", "List the file servers with their shares, and in a wide list accounts"), a.listServers),
		account("set-password", "Change the password of an account; sessions with the old one are refused at once", modify),
		server("stop", "Stop a file server; files that are open there are lost", true),
		server("start", "Start a file server again", false),
		a.controls(a.command("drop", "Let a file server close the node's sessions; files that are open there are lost",
			"SERVER"), remove, "smbSessions", named("server", nil), nil),
		a.controls(addShare, add, "smbServers", share(addShare), nil),
		a.controls(removeShare, remove, "smbServers", share(removeShare), nil),
		addUser,
		a.controls(a.command("remove-user", "Remove an account; its sessions are refused at once", "USER"), remove,
			"smbUsers", named("name", nil), nil))
}

func (a *connection) listServers(ctx context.Context, _ []string) (answer, error) {
	type server struct {
		Name    string   `json:"name"`
		Shares  []string `json:"shares"`
		Stopped bool     `json:"stopped"`
	}
	type account struct {
		Name    string   `json:"name"`
		Domains []string `json:"domains"`
	}
	servers, err := part[[]server](ctx, a, "smbServers")
	if err != nil {
		return answer{}, err
	}
	accounts, err := part[[]account](ctx, a, "smbUsers")
	names := make([]string, len(accounts))
	for i, of := range accounts {
		if names[i] = of.Name; len(of.Domains) > 0 {
			names[i] += " (" + strings.Join(of.Domains, ", ") + ")"
		}
	}
	wide := []string{"SERVER\tSTATE\tSHARES\tACCOUNTS"}
	found := table("servers", "SERVER\tSTATE\tSHARES", servers, func(s server) (any, []any) {
		row := []any{s.Name, choose(s.Stopped, "stopped", "running"), strings.Join(s.Shares, ", ")}
		wide = append(wide, cells(append(row, strings.Join(names, ", "))...))
		return s, row
	})
	found.wide, found.value = wide, map[string]any{"servers": append([]server{}, servers...), "accounts": accounts}
	return found, err
}

func iscsiCommand(a *connection) *cobra.Command {
	connect := func(name, short string, connected bool) *cobra.Command {
		return a.controls(a.command(name, short, "PORTAL"), modify, "iscsiPortals", func(args []string) (element, error) {
			p := portalOf(args)
			of := element{"address": p.GetTargetAddress(), "connected": connected}
			if p.GetTargetPort() != 0 {
				of["port"] = p.GetTargetPort()
			}
			return of, nil
		}, nil)
	}
	return group("iscsi", "Cut iSCSI portals off and connect them again, drop sessions",
		a.runs(a.command("list", "List the portals with their targets"), a.listPortals),
		connect("disconnect", "Cut a portal off; the disks of its sessions disappear", false),
		connect("connect", "Connect a portal again; the sessions and disks that were lost with it come back", true),
		a.controls(a.command("drop", "End the session with a target, even if its disks are in use", "TARGET"), remove,
			"iscsiSessions", named("target", nil), nil))
}

func (a *connection) listPortals(ctx context.Context, _ []string) (answer, error) {
	type portal struct {
		Address   string   `json:"address"`
		Port      uint16   `json:"port"`
		Connected bool     `json:"connected"`
		Targets   []string `json:"targets"`
	}
	portals, err := part[[]portal](ctx, a, "iscsiPortals")
	return table("portals", "PORTAL\tCONNECTED\tTARGETS", portals, func(p portal) (any, []any) {
		return p, []any{net.JoinHostPort(p.Address, fmt.Sprint(p.Port)), p.Connected, strings.Join(p.Targets, ", ")}
	}), err
}
