// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
)

// waitPause is the time between two looks. A look is cheap.
const waitPause = 200 * time.Millisecond

// The states that somebody can wait for.
const (
	statePresent = "present"
	stateGone    = "gone"
)

// sight is what one look found: the states that hold, and what to print once the wanted one does.
type sight struct {
	states []string
	found  answer
}

// gone is the sight of an object that is not there, with the name of its field.
func gone(field string) sight {
	return sight{[]string{stateGone}, answer{value: map[string]any{field: nil}, rows: []string{}, names: []string{}}}
}

// A lookout looks once. An error that may pass, such as that of an agent that is not there yet, is waited for as well.
type lookout func(ctx context.Context, args []string) (sight, error)

func waitCommand(a *connection) *cobra.Command {
	c := group("wait", "Wait until the agent, a disk, a volume or a mapping is as it should be",
		a.wait(a.command("ready", "Wait until the agent serves its API; prints how many endpoints it has"),
			[]string{"ready"}, a.seeReady),
		a.wait(a.command("disk", "Wait for a disk; prints its number", "DISK"),
			[]string{statePresent, "online", "offline", stateGone}, a.seeDisk),
		a.wait(a.command("volume", "Wait for a volume; prints its id", "VOLUME"),
			[]string{statePresent, "formatted", "mounted", stateGone}, a.seeVolume),
		a.wait(a.command("mapping", "Wait for the mapping of a share; prints its status", "SHARE"),
			[]string{"ok", statePresent, stateGone}, a.seeMapping),
	)
	c.Long = c.Short + `.

It waits for an agent that is not there yet, too. After --timeout it ends with exit code 7 and names the state that it
saw last.`
	c.Example = "  csi-proxyctl wait disk vol0123456789abcdef1 --for online --timeout 1m"
	return c
}

// wait makes a command that looks until a state holds, by default the first.
func (a *connection) wait(c *cobra.Command, states []string, look lookout) *cobra.Command {
	want := states[0]
	if len(states) > 1 {
		c.Flags().StringVar(&want, "for", want, "`state` to wait for: "+strings.Join(states, ", "))
		complete(c, "for", states...)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if !slices.Contains(states, want) {
			return fmt.Errorf("--for %q is unknown%s", want, didYouMean(want, states))
		}
		if err := adminclient.CheckPlace(a.socketDir); err != nil {
			return err
		}
		found, err := a.untilSeen(c, want, args, look)
		if err != nil {
			return failure{err}
		}
		return a.printAnswer(c, found)
	}
	return c
}

// untilSeen looks until a state holds or the time is over.
func (a *connection) untilSeen(c *cobra.Command, want string, args []string, look lookout) (found answer, err error) {
	ctx, cancel := a.limited(c.Context())
	defer cancel()
	defer showProgress(c)()
	last, first := "nothing was seen", true
	err = poll(ctx, waitPause, func() (bool, error) {
		seen, err := a.lookOnce(ctx, c, first, args, look)
		switch {
		case err == nil && slices.Contains(seen.states, want):
			found = seen.found
			return true, nil
		case err == nil:
			last = "it is " + strings.Join(seen.states, ", ")
		case ctx.Err() == nil && !passes(err):
			return true, err
		case ctx.Err() == nil || first:
			last = a.text(ctx, err)
		}
		first = false
		return false, nil
	})
	switch {
	case err == nil || ctx.Err() == nil:
		return found, err
	case !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return found, errors.New("interrupted")
	}
	waited := "the agent"
	if len(args) > 0 {
		waited = c.Name() + " " + args[0]
	}
	text := fmt.Sprintf("%s is not %s after %v: %s", waited, want, a.timeout, last)
	return found, &adminclient.Error{Text: text, Err: status.Error(codes.DeadlineExceeded, text)}
}

// lookOnce looks. The first look is made however short the whole time is, so that something is known in the end.
func (a *connection) lookOnce(ctx context.Context, c *cobra.Command, first bool, args []string,
	look lookout) (sight, error) {
	if first {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(c.Context(), max(a.timeout, answerTime))
		defer cancel()
	}
	return look(ctx, args)
}

// passes reports whether an error may pass by itself.
func passes(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Aborted, codes.ResourceExhausted, codes.Internal:
		return true
	}
	return exitCode(failure{err}) == exitUnavailable
}

func (a *connection) seeReady(ctx context.Context, _ []string) (sight, error) {
	client, err := adminclient.Dial(ctx, a.socketDir)
	served := 0
	if err == nil {
		defer func() { _ = client.Close() }()
		var r *admin.ListAPIsResponse
		r, err = client.ListAPIs(ctx, &admin.ListAPIsRequest{})
		served = len(r.GetApis())
	} else if list, tried := a.triedAPIs(ctx, err); tried == nil {
		// The admin endpoint comes last, or never: all others are there if two looks find as many.
		if err = nil; len(list) == a.answered {
			served = len(list)
		}
		a.answered = len(list)
	}
	if err != nil || served == 0 {
		return sight{states: []string{"not served"}}, err
	}
	return sight{[]string{"ready"},
		answer{value: map[string]int{"endpoints": served}, rows: []string{strconv.Itoa(served)}}}, nil
}

// ask calls the storage API for one look.
func ask[T any](ctx context.Context, a *connection,
	call func(context.Context, *csiproxy.Client) (T, error)) (T, error) {
	client := a.client()
	defer func() { _ = client.Close() }()
	return call(ctx, client)
}

func (a *connection) seeDisk(ctx context.Context, args []string) (sight, error) {
	return ask(ctx, a, func(ctx context.Context, client *csiproxy.Client) (sight, error) {
		number, err := diskOf(args), error(nil)
		if !isNumber(args[0]) {
			number, err = a.diskSeen(ctx, client, args[0])
		}
		var state *diskapi.GetDiskStateResponse
		if err == nil {
			state, err = client.Disk.GetDiskState(ctx, &diskapi.GetDiskStateRequest{DiskNumber: number})
		}
		if status.Code(err) == codes.NotFound {
			return gone("diskNumber"), nil
		}
		return sight{
			[]string{statePresent, onlineText(state.GetIsOnline())},
			answer{value: map[string]uint32{"diskNumber": number}, rows: []string{fmt.Sprint(number)}},
		}, err
	})
}

// diskSeen returns the number of the disk with a serial number. The agent's lists leave out a disk that does not
// answer, so one that an earlier look found and this one does not is asked for by its number, unless another disk has
// that now.
func (a *connection) diskSeen(ctx context.Context, client *csiproxy.Client, serial string) (uint32, error) {
	r, err := client.Disk.ListDiskIDs(ctx, &diskapi.ListDiskIDsRequest{})
	if err != nil {
		return 0, err
	}
	number, err := diskIn(r.GetDiskIDs(), serial)
	switch {
	case err == nil:
		a.seen = &number
	case status.Code(err) == codes.NotFound && a.seen != nil && r.GetDiskIDs()[*a.seen].GetSerialNumber() == "":
		return *a.seen, nil
	}
	return number, err
}

func (a *connection) seeVolume(ctx context.Context, args []string) (sight, error) {
	id := args[0]
	seen, err := ask(ctx, a, func(ctx context.Context, client *csiproxy.Client) (sight, error) {
		if isPath(id) {
			r, err := client.Volume.GetVolumeIDFromTargetPath(ctx,
				&volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: id})
			if err != nil && status.Code(err) != codes.NotFound {
				return sight{}, err
			}
			id = r.GetVolumeId()
		}
		if id == "" {
			return gone("volumeId"), nil
		}
		r, err := client.Volume.IsVolumeFormatted(ctx, &volumeapi.IsVolumeFormattedRequest{VolumeId: id})
		if status.Code(err) == codes.NotFound {
			return gone("volumeId"), nil
		}
		s := sight{[]string{statePresent}, answer{value: map[string]string{"volumeId": id}, rows: []string{id}}}
		if r.GetFormatted() {
			s.states = append(s.states, "formatted")
		}
		return s, err
	})
	if err != nil || !slices.Contains(seen.states, "formatted") {
		return seen, err
	}
	tree, _, err := a.tree(ctx)
	if err != nil {
		return seen, err
	}
	for _, d := range tree.Disks {
		for _, p := range d.Partitions {
			if p.Volume != nil && strings.EqualFold(shortID(p.Volume.ID), shortID(id)) && len(p.Volume.MountPoints) > 0 {
				seen.states = append(seen.states, "mounted")
			}
		}
	}
	return seen, nil
}

func (a *connection) seeMapping(ctx context.Context, args []string) (sight, error) {
	client, err := adminclient.Dial(ctx, a.socketDir)
	if err != nil {
		return sight{}, err
	}
	defer func() { _ = client.Close() }()
	r, err := client.Inspect(ctx, &admin.InspectRequest{})
	if err := partOf(r, "SMB mappings", err); err != nil {
		return sight{}, err
	}
	for _, m := range r.GetSmbMappings() {
		if strings.EqualFold(m.GetRemotePath(), args[0]) {
			return sight{
				[]string{statePresent, strings.ToLower(m.GetStatus())},
				answer{value: mappingRow{m.GetRemotePath(), m.GetStatus()}, rows: []string{m.GetStatus()}},
			}, nil
		}
	}
	return gone("share"), nil
}
