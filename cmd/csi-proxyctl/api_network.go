// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/doctor"
)

func smbGroup(a *connection) *cobra.Command {
	return group("smb", "Map SMB shares for the whole node",
		a.runs(a.command("list", "List all mapped shares, whatever program mapped them, with their status"),
			a.listMappings),
		mapCommand(a), unmapCommand(a))
}

func unmapCommand(a *connection) *cobra.Command {
	c := withDryRun(a.command("unmap", "Remove the mapping of a share; links to it stay", "SHARE"))
	a.calledBy(c, "RemoveSmbGlobalMapping")
	force := c.Flags().Bool("force", false, "unstage the volumes that are staged on the share first")
	return destructive(a.runs(c, func(ctx context.Context, args []string) (answer, error) {
		targets, err := a.stagedOn(ctx, args[0])
		if err != nil {
			return answer{}, err
		}
		if len(targets) > 0 && !*force {
			return answer{}, failedWith(codes.FailedPrecondition,
				fmt.Sprintf("%s stays mapped for the volumes that are staged at %s; --force unstages them first", args[0],
					strings.Join(targets, ", ")))
		}
		for _, target := range targets {
			if _, err := invoke(ctx, a, csiproxy.NodeStepsClient.Unstage,
				&csiproxy.UnstageRequest{TargetPath: target}); err != nil {
				return answer{}, err
			}
		}
		r, err := invoke(ctx, a, csiproxy.SMBClient.RemoveSmbGlobalMapping,
			&csiproxy.RemoveSmbGlobalMappingRequest{RemotePath: args[0]})
		if err != nil {
			return answer{}, err
		}
		return answerOf(r), nil
	}), "All volumes of this node on the share lose it, even those of other drivers and those with open files.")
}

// stagedOn returns where steps have staged volumes of the share of a path; none if no admin endpoint tells. The agent
// keeps such a mapping in any case.
func (a *connection) stagedOn(ctx context.Context, path string) ([]string, error) {
	share, err := winpath.ParseUNC(path)
	if err != nil {
		return nil, nil //nolint:nilerr // the agent says what is wrong with it
	}
	r, err := a.factsOf(ctx, admin.Part_PART_STAGED, admin.Part_PART_MAPPINGS)
	if err != nil && !adminMissing(err) {
		return nil, err
	}
	for _, m := range r.GetMappings() {
		if winpath.Fold(strings.TrimSuffix(m.GetRemotePath(), `\`)) == winpath.Fold(share.Root()) {
			return m.GetTargets(), nil
		}
	}
	return nil, nil
}

func mapCommand(a *connection) *cobra.Command {
	request := &csiproxy.NewSmbGlobalMappingRequest{}
	c := withDryRun(calls(a, a.command("map", "Map a share, and make a link to it at a path", "SHARE", "[PATH]"), request,
		csiproxy.SMBClient.NewSmbGlobalMapping, untried[*csiproxy.NewSmbGlobalMappingResponse](a)))
	c.Long = `Map a share, \\server\share or a directory in it, and make a link to it at a path, if one is given.

A mapping that works is left as it is, whatever the credentials, and the command says that they were not tried: to try
them, unmap the share first. The password is read from a file, or from standard
input with -, so that it is not in the list of processes. One line end after it is not part of it.`
	c.Example = `  csi-proxyctl smb map '\\fs.example\share' 'C:\var\lib\kubelet\smb' --user 'X\csi' --password-file -`
	c.Flags().StringVar(&request.Username, "user", "", "`name` of the account, with its domain if it has one")
	required(c, "user")
	return passwordFlag(c, "`file` with the password; -: standard input", &request.Password)
}

// factsOf returns parts of what only the admin endpoint knows. It fails if the needed one is missing, because an empty
// list would look complete.
func (a *connection) factsOf(ctx context.Context, needed admin.Part,
	more ...admin.Part) (*admin.GetFactsResponse, error) {
	r, err := a.seen(ctx, append(more, needed)...)
	for _, gap := range r.GetGaps() {
		if gap.GetAsked() == needed {
			text := gap.GetPart() + ": " + gap.GetError()
			if gap.GetUnanswered() {
				text += advice[reason.NotAnswering]
			}
			return nil, failedWith(codes.Unavailable, text)
		}
	}
	return r, err
}

// seen returns facts of the admin endpoint.
func (a *connection) seen(ctx context.Context, parts ...admin.Part) (*admin.GetFactsResponse, error) {
	return invoke(ctx, a, admin.AdminClient.GetFacts, &admin.GetFactsRequest{Parts: parts})
}

// describeMapping describes the mapping that a path on a share uses. It needs an admin endpoint.
func describeMapping(ctx context.Context, a *connection, args []string) ([]string, error) {
	path := args[len(args)-1]
	r, err := a.factsOf(ctx, admin.Part_PART_MAPPINGS, admin.Part_PART_LINKS, admin.Part_PART_STAGED)
	if err != nil {
		return nil, nil //nolint:nilerr // the description is optional
	}
	for _, m := range r.GetMappings() {
		if share := m.GetRemotePath(); strings.HasPrefix(winpath.Fold(path)+`\`, winpath.Fold(share)+`\`) {
			lines := []string{share + ": mapped, " + m.GetStatus()}
			for _, target := range m.GetTargets() {
				lines = append(lines, target+": a volume is staged there on the share")
			}
			return append(lines, doctor.Users(r, winpath.Fold(share))...), nil
		}
	}
	return []string{path + ": not mapped"}, nil
}

func (a *connection) listMappings(ctx context.Context, _ []string) (answer, error) {
	r, err := a.factsOf(ctx, admin.Part_PART_MAPPINGS, admin.Part_PART_LINKS)
	wide := []string{"SHARE	STATUS	LINK"}
	found := table("mappings", "SHARE	STATUS", r.GetMappings(), func(m *admin.SMBMapping) (any, []any) {
		link := doctor.LinkTo(r, m.GetRemotePath())
		if !r.GetAllLinks() {
			link = cmp.Or(link, "unknown")
		}
		wide = append(wide, cells(m.GetRemotePath(), m.GetStatus(), link))
		return map[string]string{"share": m.GetRemotePath(), "status": m.GetStatus(), "link": link},
			[]any{m.GetRemotePath(), m.GetStatus()}
	})
	found.wide = wide
	return found, err
}

func iscsiGroup(a *connection) *cobra.Command {
	mutual := &csiproxy.SetMutualChapSecretRequest{}
	c := group("iscsi", "Register iSCSI portals, log in to targets, find their disks",
		group("portal", "Register portals and ask them for targets",
			change(a, "add", "Register a portal; it survives reboots", csiproxy.ISCSIClient.AddTargetPortal, "PORTAL"),
			change(a, "remove", "Remove a registered portal; connected targets stay connected",
				csiproxy.ISCSIClient.RemoveTargetPortal, "PORTAL"),
			query(a, "list", "List the registered portals", csiproxy.ISCSIClient.ListTargetPortals, showPortals),
			query(a, "discover", "Ask a registered portal for its targets", csiproxy.ISCSIClient.DiscoverTargetPortal,
				func(_ []string, r *csiproxy.DiscoverTargetPortalResponse) answer {
					return plainList("targets", r.GetIqns())
				},
				"PORTAL")),
		loginCommand(a),
		destructive(change(a, "logout", "Log out of a target, for good", csiproxy.ISCSIClient.DisconnectTarget,
			"PORTAL", "TARGET"),
			"Its disks disappear. It is refused while a volume on one of them is mounted."),
		query(a, "disks", "Print the numbers of a target's disks on this node",
			csiproxy.ISCSIClient.GetTargetDisks,
			func(_ []string, r *csiproxy.GetTargetDisksResponse) answer { return plainList("disks", r.GetDiskIDs()) },
			"PORTAL", "TARGET"),
		a.runs(a.command("sessions", "List all sessions with targets, whatever program made them"), a.listSessions),
		passwordFlag(changeWith(a, "mutual-secret",
			"Set the secret with which targets authenticate themselves to this node; all targets share it", mutual,
			csiproxy.ISCSIClient.SetMutualChapSecret),
			"`file` with the secret, 12 to 16 bytes; -: standard input", &mutual.MutualChapSecret))
	c.Long = c.Short + `.

A PORTAL is an address, with a port if it is not 3260: 192.0.2.10, 192.0.2.10:3260, [2001:db8::10]:3260. A TARGET is an
iSCSI qualified name, as csi-proxyctl iscsi portal discover prints it.`
	return c
}

func showPortals(_ []string, r *csiproxy.ListTargetPortalsResponse) answer {
	return table("portals", "ADDRESS\tPORT", r.GetTargetPortals(), func(p *csiproxy.TargetPortal) (any, []any) {
		address, port := p.GetTargetAddress(), p.GetTargetPort()
		return map[string]any{"address": address, "port": port}, []any{address, port}
	})
}

func loginCommand(a *connection) *cobra.Command {
	request := &csiproxy.ConnectTargetRequest{}
	c := withDryRun(calls(a, a.command("login", "Log in to a target; its disks arrive offline and read-only", "PORTAL",
		"TARGET"), request, csiproxy.ISCSIClient.ConnectTarget, untried[*csiproxy.ConnectTargetResponse](a)))
	c.Long = `Log in to a target that a discovery has found; its disks arrive offline and read-only.

With --auth chap or mutual-chap the secret of the user is read from a file, or from standard input with -. A target that
is already connected stays connected, whatever the credentials, and the command says that they were not tried.`
	c.Example = "  csi-proxyctl iscsi login 192.0.2.10 iqn.2026-01.example:data --auth chap --user csi-user " +
		"--password-file -"
	auth := c.Flags().String("auth", "none",
		"`method` by which the node and the target authenticate themselves: none, chap or mutual-chap")
	c.Flags().StringVar(&request.ChapUsername, "user", "", "CHAP user `name` (default: the node's initiator name)")
	readSecret := optionalPassword(c, "`file` with the CHAP secret, 12 to 16 bytes; -: stdin", &request.ChapSecret)
	complete(c, "auth", "none", "chap", "mutual-chap")
	return prepared(c, func([]string) error {
		types := map[string]csiproxy.AuthenticationType{"none": csiproxy.AuthenticationType_NONE,
			"chap": csiproxy.AuthenticationType_ONE_WAY_CHAP, "mutual-chap": csiproxy.AuthenticationType_MUTUAL_CHAP}
		var known bool
		if request.AuthType, known = types[*auth]; !known {
			return fmt.Errorf("--auth %q is unknown; use none, chap or mutual-chap", *auth)
		}
		chap := *auth != "none"
		if chap != c.Flags().Changed("password-file") {
			return fmt.Errorf("--auth chap and mutual-chap need --password-file, and nothing else takes it; --auth is %s", *auth)
		}
		if !chap {
			return nil
		}
		return readSecret()
	})
}

func (a *connection) listSessions(ctx context.Context, _ []string) (answer, error) {
	r, err := a.factsOf(ctx, admin.Part_PART_SESSIONS)
	if err == nil && len(r.GetSessions()) == 0 {
		err = a.initiatorRuns(ctx)
	}
	return table("sessions", "TARGET\tCONNECTED", r.GetSessions(), func(s *admin.ISCSISession) (any, []any) {
		return message{s}, []any{s.GetTarget(), s.GetConnected()}
	}), err
}

// initiatorRuns fails if Windows knows of no session because its iSCSI service is stopped.
func (a *connection) initiatorRuns(ctx context.Context) error {
	r, err := invoke(ctx, a, csiproxy.SystemClient.GetService, &csiproxy.GetServiceRequest{Name: initiator})
	if err != nil || r.GetStatus() == csiproxy.ServiceStatus_RUNNING {
		return err
	}
	return failedWith(codes.FailedPrecondition, fmt.Sprintf("the sessions are not known: the service %s is %s; "+
		"csi-proxyctl system service start %[1]s starts it", initiator, word(r.GetStatus())))
}
