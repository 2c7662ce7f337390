// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/doctor"
)

// text returns an error as its user reads it: what is wrong, and the command to type next. It speaks of commands where
// the agent, whose messages are for drivers, speaks of methods.
func (a *connection) text(ctx context.Context, err error) string {
	text := a.reason(err)
	code := status.Code(err)
	if a.running == nil || code != codes.NotFound && code != codes.InvalidArgument {
		return text
	}
	suggestion, takes := a.suggestion(ctx), a.takes[a.running]
	if suggestion == "" && code == codes.NotFound && len(takes) > 0 && a.onEmulatedNode(a.running) {
		suggestion = takes[0].listing()
	}
	return text + suggestion
}

// reason is text without what the user may have meant.
func (a *connection) reason(err error) string {
	call, unsupported := (*csiproxy.Error)(nil), (*versions.UnsupportedError)(nil)
	switch {
	case errors.Is(err, csiproxy.ErrNoAgent):
		return a.noAgent(err)
	case errors.As(err, new(*dial.Error)) && !errors.Is(err, fs.ErrPermission) && a.serves():
		return fmt.Sprintf("the agent in %s has no admin endpoint here, which %s needs%s", a.place(), a.running.CommandPath(),
			without[a.running.CommandPath()])
	case errors.As(err, &unsupported) && errors.As(err, &call):
		return fmt.Sprintf("this agent is too old for %s: it needs version %s of the %s API, and the agent's newest is %s; "+
			"csi-proxyctl apis lists what it serves",
			a.commandsFor(unsupported.What), unsupported.Version, unsupported.Group, call.Version)
	case errors.As(err, &call) && call.Reason == reason.NotMounted && call.Method == "GetVolumeIDFromTargetPath":
		return "no volume is mounted there; csi-proxyctl tree shows where volumes are mounted"
	case errors.As(err, &call):
		return strings.Replace(err.Error(), call.Error(), a.commandsFor(call.Message)+advice[call.Reason], 1)
	}
	return err.Error()
}

// without has what to type in the place of a command for which an agent without an admin endpoint has no call.
var without = map[string]string{
	"csi-proxyctl smb list": "; on the node itself, Get-SmbGlobalMapping in PowerShell lists the mapped shares",
	"csi-proxyctl iscsi sessions": "; csi-proxyctl iscsi disks PORTAL TARGET shows whether a target is connected, and " +
		"on the node itself, iscsicli SessionList lists the sessions",
}

// noAgent returns the text for an agent that cannot be reached through the storage API.
func (a *connection) noAgent(err error) string {
	if call := (*csiproxy.Error)(nil); errors.As(err, &call) && !errors.Is(err, fs.ErrPermission) && a.serves() {
		return fmt.Sprintf("the agent in %s does not serve the %s API: look at its -api flags; csi-proxyctl apis lists "+
			"what it serves", a.place(), call.Group)
	}
	if !errors.As(err, new(*dial.Error)) {
		err = &dial.Error{Address: a.place(), Err: fs.ErrNotExist}
	}
	return adminclient.Unreachable(err).Error()
}

// place returns where the agent's endpoints are.
func (a *connection) place() string {
	if runtime.GOOS == "windows" {
		return `\\.\pipe\csi-proxy-*`
	}
	return filepath.Dir(a.address("disk", "v1"))
}

// serves reports whether an agent serves any endpoint here.
func (a *connection) serves() bool {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	return slices.ContainsFunc(a.tryEndpoints(ctx), func(e doctor.Endpoint) bool { return e.State == doctor.Answers })
}

// advice has the command that helps after a failure, by the failure's reason.
var advice = map[string]string{
	reason.DiskNotFound:      "; csi-proxyctl disk list lists the disks",
	reason.VolumeNotFound:    "; csi-proxyctl volume list lists the volumes",
	reason.DiskOffline:       "; csi-proxyctl disk online DISK brings it online",
	reason.ServiceNotRunning: "; csi-proxyctl system service list shows which services run",
	reason.Policy:            "; csi-proxyctl policy test FILE shows which rule refuses it",
	reason.NotAnswering:      "; csi-proxyctl doctor shows what hangs",
}

var methodName = regexp.MustCompile(`\b[A-Z][A-Za-z]+\b`)

// commandsFor replaces the methods that a text names by the commands that call them. Those with their group or version
// stay: they are what a policy or a fault names.
func (a *connection) commandsFor(text string) string {
	var out strings.Builder
	end := 0
	for _, at := range methodName.FindAllStringIndex(text, -1) {
		if c := a.callers[text[at[0]:at[1]]]; c != nil &&
			(at[0] == 0 || !strings.ContainsRune(`/."`, rune(text[at[0]-1]))) {
			out.WriteString(text[end:at[0]] + c.CommandPath())
			end = at[1]
		}
	}
	return out.String() + text[end:]
}

// Exit codes. They are part of the interface: scripts rely on them.
const (
	exitOK           = 0
	exitFailed       = 1
	exitUsage        = 2
	exitUnavailable  = 3
	exitNotFound     = 4
	exitRefused      = 5
	exitUnsupported  = 6
	exitTimeout      = 7
	exitNotConfirmed = 8
)

const exitCodesText = `Exit codes:
  0  done
  1  failed; for doctor: it found something
  2  wrong usage: a command, a flag or an argument
  3  no agent can be reached, or something that it needs does not answer
  4  the named object does not exist
  5  refused because of the state of the node, a rule or wrong credentials
  6  this agent cannot do it: its version is too old, or its node is not an emulated one
  7  out of time; the agent completes a change that has begun
  8  not confirmed: nothing was done`

// failure is an error that is not about usage. All other errors come from cobra.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// failedWith returns a failure with a text, and the exit code that belongs to a status code.
func failedWith(code codes.Code, text string) error {
	return failure{&adminclient.Error{Text: text, Err: status.Error(code, text)}}
}

// errNotConfirmed ends a command that would have destroyed something and was not confirmed.
var errNotConfirmed = errors.New(
	"not confirmed, nothing was done; give --yes to do it without asking, or --dry-run to see what would be done")

// errFound ends doctor if it found something, which it has printed.
var errFound = errors.New("")

// exitCode returns the exit code of a command that ended with err, which may be nil.
func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case !errors.As(err, new(failure)):
		return exitUsage
	case errors.Is(err, errNotConfirmed):
		return exitNotConfirmed
	case errors.As(err, new(*dial.Error)), errors.Is(err, csiproxy.ErrNoAgent):
		return exitUnavailable
	}
	s, ok := status.FromError(err)
	if !ok {
		return exitFailed
	}
	switch s.Code() {
	case codes.Unavailable:
		return exitUnavailable
	case codes.NotFound:
		return exitNotFound
	case codes.InvalidArgument, codes.FailedPrecondition, codes.AlreadyExists, codes.OutOfRange,
		codes.PermissionDenied, codes.Unauthenticated:
		return exitRefused
	case codes.Unimplemented:
		return exitUnsupported
	case codes.DeadlineExceeded:
		return exitTimeout
	default:
		return exitFailed
	}
}
