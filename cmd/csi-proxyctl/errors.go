// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/doctor"
)

// text returns an error's text for the user: the cause and the next command.
func (a *connection) text(err error) string {
	text := a.reason(err)
	if a.running == nil || !a.onEmulatedNode(a.running) || status.Code(err) != codes.NotFound ||
		errors.As(err, new(*csiproxy.Error)) { // whose text has its advice
		return text
	}
	takes := a.takes[a.running]
	if len(takes) == 0 || takes[0].lists == "" {
		return text
	}
	if list, _, err := a.running.Parent().Find([]string{"list"}); err == nil && list.Name() == "list" {
		return text + "; " + list.CommandPath() + " lists them"
	}
	return text + takes[0].listing()
}

// reason is text without the command that lists the objects of an emulated node.
func (a *connection) reason(err error) string {
	call, unsupported := (*csiproxy.Error)(nil), (*versions.UnsupportedError)(nil)
	switch {
	case errors.Is(err, csiproxy.ErrNoAgent):
		return a.noAgent(err)
	case errors.As(err, new(*dial.Error)) && !errors.Is(err, fs.ErrPermission) && a.serves():
		command := a.running.CommandPath()
		return fmt.Sprintf("the agent in %s has no admin endpoint here, which %s needs%s", a.location(), command,
			alternatives[command])
	case errors.As(err, &unsupported) && errors.As(err, &call):
		return fmt.Sprintf("this agent is too old for %s: it needs version %s of the %s API, and the agent's newest is %s; "+
			"csi-proxyctl apis lists what it serves",
			a.commandFor(unsupported.What), unsupported.Version, unsupported.Group, call.Version)
	case errors.As(err, &call) && call.Reason == reason.NotMounted && call.Method == "GetVolumeIDFromTargetPath":
		return "no volume is mounted there; csi-proxyctl tree shows where volumes are mounted"
	case errors.As(err, &call):
		told := call.Message + advice[call.Reason] + advice[call.Method+" "+call.Reason]
		return strings.Replace(err.Error(), call.Error(), told, 1)
	}
	return err.Error()
}

// alternatives has the commands that work without an admin endpoint, for commands that need one.
var alternatives = map[string]string{
	"csi-proxyctl smb list": "; on the node itself, Get-SmbGlobalMapping in PowerShell lists the mapped shares",
	"csi-proxyctl iscsi sessions": "; csi-proxyctl iscsi disks PORTAL TARGET shows whether a target is connected, and " +
		"on the node itself, iscsicli SessionList lists the sessions",
}

// noAgent returns the text for an agent, or a group of its API, that is not reachable.
func (a *connection) noAgent(err error) string {
	if call := (*csiproxy.Error)(nil); errors.As(err, &call) && !errors.Is(err, fs.ErrPermission) && a.serves() {
		return fmt.Sprintf("the agent in %s does not serve the %s API: look at its -api flags; csi-proxyctl apis lists "+
			"what it serves", a.location(), call.Group)
	}
	if !errors.As(err, new(*dial.Error)) {
		err = &dial.Error{Address: a.location(), Err: fs.ErrNotExist}
	}
	return adminclient.Unreachable(err).Error()
}

// location returns the directory of the agent's sockets, or the pattern of its pipes.
func (a *connection) location() string {
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

// advice has the next command for an error's reason, or for a method's and its reason.
var advice = map[string]string{
	reason.PathExists:        "; csi-proxyctl fs rmdir removes a link or an empty directory",
	reason.DiskNotFound:      "; csi-proxyctl disk list lists the disks",
	reason.DiskOffline:       "; csi-proxyctl disk online brings it online",
	reason.DiskRaw:           "; csi-proxyctl disk partition partitions a blank disk",
	reason.DiskReadOnly:      "; csi-proxyctl disk online makes it writable, unless its hardware protects it",
	reason.VolumeNotFound:    "; csi-proxyctl volume list lists the volumes",
	reason.PortalNotFound:    "; csi-proxyctl iscsi portal list lists the portals, and portal add registers one",
	reason.TargetNotFound:    "; csi-proxyctl iscsi portal discover PORTAL lists the targets",
	reason.ServiceNotFound:   "; csi-proxyctl system service list lists those that storage needs",
	reason.ServiceNotRunning: "; csi-proxyctl system service start starts it",
	reason.Policy:            "; csi-proxyctl policy test FILE shows which rule refuses it",
	reason.NotAnswering:      "; csi-proxyctl doctor shows what hangs",

	"CreateSymlink " + reason.PathNotFound:       "; csi-proxyctl fs mkdir makes a directory, with its parents",
	"NewSmbGlobalMapping " + reason.PathNotFound: "; csi-proxyctl fs mkdir makes a directory, with its parents",
}

// commandFor returns the command that calls a method, or the method if there is none.
func (a *connection) commandFor(method string) string {
	if c := a.callers[method]; c != nil {
		return c.CommandPath()
	}
	return method
}

// exitCodesText lists the exit codes, on which scripts rely.
const exitCodesText = `Exit codes:
  0  done
  1  failed; doctor: it found a problem or a warning
  2  wrong usage: a command, a flag or an argument, also if the agent finds it wrong; for doctor -o npd also: not known
  3  no agent is reachable, or a system that it depends on does not answer
  4  the named object does not exist
  5  refused because of the state of the node, a rule or wrong credentials
  6  not supported: the agent is too old, or its node is not an emulated one
  7  out of time; the agent completes a change that has begun
  8  not confirmed: nothing was done`

// A failure is an error that is not a usage error.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// failedWith returns a failure with the exit code of a status code.
func failedWith(code codes.Code, text string) error {
	return failure{&adminclient.Error{Text: text, Err: status.Error(code, text)}}
}

var errNotConfirmed = errors.New(
	"not confirmed, nothing was done; give --yes to skip the question, or --dry-run to see the planned change")

// errPrinted ends doctor, which has printed what it found: as a failure with exit code 1, and otherwise with 2, which
// node-problem-detector takes for "unknown".
var errPrinted = errors.New("")

func exitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case !errors.As(err, new(failure)):
		return 2
	case errors.Is(err, errNotConfirmed):
		return 8
	case errors.As(err, new(*dial.Error)), errors.Is(err, csiproxy.ErrNoAgent):
		return 3
	}
	switch status.Code(err) {
	case codes.InvalidArgument:
		return 2
	case codes.Unavailable:
		return 3
	case codes.NotFound:
		return 4
	case codes.FailedPrecondition, codes.AlreadyExists, codes.OutOfRange, codes.PermissionDenied, codes.Unauthenticated:
		return 5
	case codes.Unimplemented:
		return 6
	case codes.DeadlineExceeded:
		return 7
	default:
		return 1
	}
}
