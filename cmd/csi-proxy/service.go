// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/app"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winservice"
)

// serviceName is the name of the service where there is none yet.
const serviceName = "csiproxy"

const (
	exitStopped      = 3 // service status: installed, and not running
	exitNotInstalled = 4 // service status: not installed
)

const (
	startTimeout = 90 * time.Second
	stopTimeout  = app.StopLimit + 30*time.Second
)

// asService reports whether to run as a service, even where the rest of the command line is wrong.
func (o *options) asService(args []string, parsed error) bool {
	if parsed == nil || o.started {
		return o.service
	}
	return slices.ContainsFunc(args, func(arg string) bool {
		_, value, _ := strings.Cut(arg, "=")
		return isFlag(arg, "windows-service") && slices.Contains([]string{"", "true", "1"}, value)
	})
}

// fullPath refuses a relative path, because a service starts in Windows' own directory.
func fullPath(name, path string) error {
	if path != "" && !filepath.IsAbs(path) {
		return fmt.Errorf("%s=%s is relative, and a service has no directory of its own: give a full path", name, path)
	}
	return nil
}

// checkService refuses flags that are for the console only. Relative paths of the log are refused only at the
// installation, because there are services that were made with them.
func (o *options) checkService() error {
	if err := fullPath("-audit-log", o.Audit.File); err != nil {
		return err
	}
	if !o.Log.ToStderr && o.Log.File+o.Log.Dir == "" {
		// Anybody may make files, and so links, in SYSTEM's directory for temporary files, and klog would follow the links.
		return errors.New("-logtostderr=false alone logs to the directory for temporary files, which a service must not: " +
			"give -log_file=FILE or -log_dir=DIR too")
	}
	return nil
}

// runService runs the agent for the Service Control Manager. An error in the command line is reported
// there and in the Event Log, as a failed start, because a service has no standard error. It has no standard output
// either, so it does not print ready N.
func runService(ctx context.Context, o *options, invalid error, stderr io.Writer) int {
	if errors.Is(invalid, flag.ErrHelp) {
		return app.ExitOK
	}
	err := winservice.Run(func(told context.Context, ready func(details string)) error {
		if invalid != nil {
			return invalid
		}
		closeLog, err := o.Log.Open()
		if err != nil {
			return err
		}
		defer closeLog()
		err = o.Serve(ctx, told, startAgent, func(endpoints int) error {
			ready(fmt.Sprintf("%d API endpoints accept calls. %s Version: %s.", endpoints, o.Log.Describe(),
				app.Version("csi-proxy")))
			return nil
		})
		if err != nil {
			klog.Background().Error(err, "the service failed")
		}
		return err
	})
	switch {
	case err == nil:
		return app.ExitOK
	case invalid != nil:
		_, _ = fmt.Fprintf(stderr, "csi-proxy: %v\nRun csi-proxy -help for the flags.\n", invalid)
		return app.ExitUsage
	case errors.Is(err, winservice.ErrNotService):
		err = fmt.Errorf("-windows-service: %w: install it with csi-proxy service install, or leave the flag out to "+
			"run it here", err)
	}
	_, _ = fmt.Fprintf(stderr, "csi-proxy: %v\n", err)
	return app.ExitFailed
}

// A serviceCommand is a subcommand of csi-proxy service with its surroundings.
type serviceCommand struct {
	scm    winservice.Manager
	stdout io.Writer
	name   string                 // of the service
	agents []winservice.Installed // of the node
}

// choose returns the name of the service that a command is about: the one that was given, or of the one that there is.
func choose(given string, agents []winservice.Installed) (name string, err error) {
	switch {
	case given != "":
		return given, nil
	case len(agents) == 0:
		return serviceName, nil
	case len(agents) == 1:
		return agents[0].Name, nil
	}
	return "", fmt.Errorf("there are the services %s and %s: name one of them with -name", agents[0].Name, agents[1].Name)
}

// service runs csi-proxy service and returns the exit code.
func service(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fail := func(code int, err error) int {
		_, _ = fmt.Fprintf(stderr, "csi-proxy service: %v\n", err)
		if code == app.ExitUsage {
			_, _ = fmt.Fprintln(stderr, "Run csi-proxy service -help for the commands.")
		}
		return code
	}
	if len(args) == 0 {
		return fail(app.ExitUsage, errors.New("a command is missing"))
	}
	command, args := args[0], args[1:]
	asksForHelp := func(arg string) bool { return slices.Contains([]string{"-h", "-help", "--help"}, arg) }
	switch {
	case command == "help", asksForHelp(command), slices.ContainsFunc(args[:beforeDashes(args)], asksForHelp):
		_, _ = io.WriteString(stdout, serviceUsage)
		return app.ExitOK
	case !slices.Contains([]string{"install", "uninstall", "status", "start", "stop"}, command):
		return fail(app.ExitUsage, fmt.Errorf("unknown command %q", command))
	case runtime.GOOS != "windows":
		return fail(app.ExitUsage, fmt.Errorf("%s needs Windows, and this is %s; for an emulated node run "+
			"csi-proxy-emulated -state-dir=DIR", command, runtime.GOOS))
	}
	var name string
	own := flag.NewFlagSet("csi-proxy service "+command, flag.ContinueOnError)
	own.SetOutput(io.Discard)
	own.StringVar(&name, "name", "", "")
	var install installation
	var err error
	if command == "install" {
		install, err = readInstallation(own, args)
	} else if err = own.Parse(args); err == nil && own.NArg() > 0 {
		err = fmt.Errorf("unknown argument %q", own.Arg(0))
	}
	if err != nil {
		return fail(app.ExitUsage, fmt.Errorf("%s: %w", command, err))
	}
	scm, err := winservice.Connect()
	if err != nil {
		return fail(app.ExitFailed, err)
	}
	defer func() { _ = scm.Close() }()
	c, code := serviceCommand{scm: scm, stdout: stdout}, app.ExitOK
	if c.agents, err = winservice.Agents(scm); err == nil {
		c.name, err = choose(name, c.agents)
	}
	switch {
	case err != nil:
	case command == "install":
		err = c.install(ctx, install)
	case command == "uninstall":
		err = c.uninstall(ctx)
	case command == "status":
		code, err = c.status()
	case command == "start":
		err = c.start(ctx)
	case command == "stop":
		err = c.stop(ctx)
	}
	if err != nil {
		return fail(app.ExitFailed, err)
	}
	return code
}

func (c serviceCommand) print(format string, args ...any) {
	_, _ = fmt.Fprintf(c.stdout, format+"\n", args...)
}

func (c serviceCommand) start(ctx context.Context) error {
	return c.change(ctx, startTimeout, winservice.Start, "running")
}

func (c serviceCommand) stop(ctx context.Context) error {
	return c.change(ctx, stopTimeout, winservice.Stop, "stopped")
}

// change changes the service's state and waits for it.
func (c serviceCommand) change(ctx context.Context, limit time.Duration,
	do func(context.Context, winservice.Manager, string) error, state string) error {
	waitCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := do(waitCtx, c.scm, c.name); err != nil {
		return err
	}
	c.print("%s is %s", c.name, state)
	return nil
}

func (c serviceCommand) uninstall(ctx context.Context) error {
	waitCtx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	found, err := winservice.Uninstall(waitCtx, c.scm, c.name)
	switch {
	case err != nil:
		return err
	case found:
		c.print("%s is stopped and removed; its program and its logs are left where they are", c.name)
	default:
		c.print("%s is not installed; there is nothing to remove", c.name)
	}
	return nil
}

// status prints what Windows knows about the service; the exit code tells scripts whether it runs.
func (c serviceCommand) status() (code int, err error) {
	s, err := c.scm.Query(c.name)
	switch {
	case errors.Is(err, winservice.ErrNotInstalled):
		c.print("%s is not installed", c.name)
		return exitNotInstalled, nil
	case err != nil:
		return app.ExitFailed, err
	}
	c.print("service   %s", c.name)
	c.print("state     %v", s.State)
	if s.PID != 0 {
		c.print("pid       %d", s.PID)
	}
	if s.State == win32.SERVICE_STOPPED {
		c.print("ended     %s", s.Exit())
	}
	c.print("start     %v", s.Start)
	c.print("account   %s", s.Account)
	c.print("recovery  %v", s.Recovery)
	for i, word := range s.Command {
		c.print("%-9s %s", []string{"program", "argument"}[min(i, 1)], word)
	}
	if s.State != win32.SERVICE_RUNNING {
		return exitStopped, nil
	}
	return app.ExitOK, nil
}

const serviceUsage = `The Windows service of this node's agent: the one that runs a csi-proxy.exe or has the
name csi-proxy, else csiproxy. -name NAME, before --, names another one, such as that of
a wrapper. All but status need an administrator.

Usage:
  csi-proxy service install [-start] [-- FLAGS]  install this program as the service, or change the one that there is;
                                                 FLAGS are the agent's, and are checked first. If none says where the
                                                 log goes, it goes to ` + defaultLogFile + `
  csi-proxy service start                        start it, and wait until it serves
  csi-proxy service stop                         stop it, and wait until it has stopped
  csi-proxy service status                       show its state, process, program and arguments
  csi-proxy service uninstall                    stop it and remove it; not an error if it is not installed

Exit codes: 0 done, and for status: running; 1 failed; 2 wrong usage; of status: 3 not running, 4 not installed.
`
