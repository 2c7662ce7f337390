// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/fileowner"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/records"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winservice"
)

// defaultLogFile is where the log of a service goes if no flag says otherwise: where cloud images look for it.
const defaultLogFile = `\etc\kubernetes\logs\csi-proxy.log`

// restartDelay is how long Windows waits before it starts a failed service again, each time.
const restartDelay = 10 * time.Second

// An installation is a request to csi-proxy service install.
type installation struct {
	start  bool
	flags  []string // of the agent
	logs   []string // the directories of its logs, which are made
	policy string   // its policy file; empty: none
}

// beforeDashes returns how many arguments stand before "--".
func beforeDashes(args []string) int {
	if i := slices.Index(args, "--"); i >= 0 {
		return i
	}
	return len(args)
}

// readInstallation reads the arguments of csi-proxy service install, with its own flags in own. It reads the agent's
// flags as the agent will.
func readInstallation(own *flag.FlagSet, args []string) (i installation, err error) {
	own.BoolVar(&i.start, "start", false, "")
	split := beforeDashes(args)
	if err := own.Parse(args[:split]); err != nil {
		return i, fmt.Errorf("%w; the agent's flags go behind --", err)
	}
	if own.NArg() > 0 {
		return i, fmt.Errorf("unknown argument %q; the agent's flags go behind --", own.Arg(0))
	}
	given := args[min(split+1, len(args)):]
	i.flags = agentFlags(given)
	o := newOptions()
	err = o.parse(i.flags)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return i, errors.New("-help is not a flag for a service")
	case err != nil:
		return i, fmt.Errorf("the agent would not start: %w", err)
	case o.Version || !o.service:
		return i, fmt.Errorf("with %q the agent would not run as a service", strings.Join(given, " "))
	}
	i.logs, i.policy = o.logDirs(), o.Policy
	return i, errors.Join(fullPath("-log_file", o.Log.File), fullPath("-log_dir", o.Log.Dir),
		fullPath("-policy", o.Policy))
}

// logDirs returns the directories in which a service writes its logs.
func (o *options) logDirs() (dirs []string) {
	switch {
	case o.Log.ToStderr:
	case o.Log.File != "":
		dirs = append(dirs, filepath.Dir(o.Log.File))
	default:
		dirs = append(dirs, o.Log.Dir)
	}
	if dir := filepath.Dir(o.Audit.File); o.Audit.File != "" && !slices.Contains(dirs, dir) {
		dirs = append(dirs, dir)
	}
	return dirs
}

// agentFlags adds what a service needs to the flags that were given.
func agentFlags(given []string) []string {
	has := func(names ...string) bool {
		return slices.ContainsFunc(given, func(arg string) bool { return isFlag(arg, names...) })
	}
	var flags []string
	if !has("windows-service") {
		flags = append(flags, "-windows-service")
	}
	if !has("log_file", "log_dir", "logtostderr") {
		flags = append(flags, "-log_file="+defaultLogFile, "-logtostderr=false")
	}
	return append(flags, given...)
}

// isFlag reports whether an argument is one of the flags, with or without a value.
func isFlag(arg string, names ...string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return strings.HasPrefix(arg, "-") && slices.Contains(names, strings.TrimPrefix(strings.TrimPrefix(name, "-"), "-"))
}

// definition returns the service that runs a program with flags, as node scripts have always made it with sc.exe.
func definition(name, program string, flags []string) winservice.Definition {
	return winservice.Definition{
		Name:        name,
		DisplayName: "CSI Proxy",
		Description: "Serves storage operations of this node to the CSI drivers of Kubernetes.",
		Command:     append([]string{program}, flags...),
		Start:       win32.SERVICE_AUTO_START,
		Account:     winservice.LocalSystem,
		PreShutdown: stopTimeout,
		Recovery:    &winservice.Recovery{Restart: []time.Duration{restartDelay}, OnError: true},
	}
}

// securing returns the commands that leave the program's directory to administrators, or the program to its directory's
// access list. In a directory of other programs it advises one of the agent's own: their installers may rely on the
// rights that are there.
// https://learn.microsoft.com/windows-server/administration/windows-commands/icacls
func securing(program, path string) string {
	if path == program {
		return "\n  icacls \"" + path + `" /setowner "*S-1-5-32-544"` + "\n  icacls \"" + path + `" /reset`
	}
	files, err := filepath.Glob(filepath.Join(path, "*.exe"))
	if err != nil || slices.ContainsFunc(files, func(file string) bool {
		return !strings.HasPrefix(strings.ToLower(filepath.Base(file)), "csi-proxy")
	}) {
		return "; other programs are there, too: move csi-proxy.exe into a directory of its own, such as " +
			`"C:\Program Files\csi-proxy"`
	}
	return fileowner.Cure(path, true)
}

func (c serviceCommand) install(ctx context.Context, i installation) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("this program's path: %w", err)
	}
	// Others could put another program in its place, or a DLL beside it.
	for _, path := range []string{filepath.Dir(program), program} {
		if err := fileowner.Check(path); err != nil {
			return fmt.Errorf("the service would run %s as SYSTEM: %w%s", program, err, securing(program, path))
		}
	}
	// At once, and not at the service's first start, so that no other user can make the directories first.
	for _, dir := range i.logs {
		if err := fileowner.MakePrivateDirectory(dir); err != nil {
			return fmt.Errorf("log directory: %w", err)
		}
	}
	if _, err := records.MachineDir(); err != nil {
		return err
	}
	before, err := c.scm.Query(c.name)
	if err != nil && !errors.Is(err, winservice.ErrNotInstalled) {
		return err
	}
	changes, err := winservice.Install(c.scm, definition(c.name, program, i.flags))
	if err != nil {
		return err
	}
	switch {
	case changes.Created:
		c.print("%s is installed: %s %s", c.name, program, strings.Join(i.flags, " "))
	case len(changes.Updated) == 0:
		c.print("%s is already installed like this; nothing changed", c.name)
	default:
		c.print("%s was installed differently and is changed:\n  %s", c.name, strings.Join(changes.Updated, "\n  "))
	}
	for _, a := range c.agents {
		if !strings.EqualFold(a.Name, c.name) {
			c.print("warning: there is the service %s, too, and a node has room for one agent: sc.exe delete %s, or give "+
				"-name %s", a.Name, a.Name, a.Name)
		}
	}
	c.warn(i.logs...)
	if i.policy != "" {
		if _, err := policy.Load(i.policy); err != nil {
			c.print("warning: the service will not start with -policy=%s: %v", i.policy, err)
		}
	}
	running := before.State == win32.SERVICE_RUNNING && len(changes.Updated) > 0
	if running && !i.start {
		c.print("it goes on running with its old settings; csi-proxy service install -start, or a stop and a start, " +
			"applies the new ones")
	}
	if !i.start {
		return nil
	}
	if running {
		if err := c.stop(ctx); err != nil {
			return err
		}
	}
	return c.start(ctx)
}

// warn names directories of the service's logs that others can divert.
func (c serviceCommand) warn(dirs ...string) {
	for _, dir := range dirs {
		if err := fileowner.Check(dir); err != nil {
			c.print("warning: the service writes there as SYSTEM: %v", err)
		}
	}
}
