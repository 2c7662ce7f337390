// SPDX-License-Identifier: Apache-2.0

// Package app is the command line that csi-proxy and csi-proxy-emulated share: their common flags, logs, metrics and
// memory limit, and serving an agent until it is told to stop.
package app

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"strings"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/services"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
)

// Options are the flags that both agents have.
type Options struct {
	// Flags has them; a program adds its own before Parse.
	Flags *flag.FlagSet
	// Version: the subcommand version was given.
	Version bool
	Log     LogFlags
	Audit   AuditFlags
	// Policy is the policy file; empty: clients may do everything.
	Policy string
	// SocketDir is where unix sockets are; empty: the program's default. Windows has pipes.
	SocketDir string

	program    string
	config     agent.Config // what a flag sets alone
	kubelet    string
	more       []string // working directories
	metrics    string
	deprecated [2]struct{ name, dir string }
}

// NewOptions returns the options of a program with their defaults.
func NewOptions(program string) *Options {
	flags := flag.NewFlagSet(program, flag.ContinueOnError)
	o := &Options{program: program, Flags: flags, config: agent.Config{APIs: &apis.Selection{}}}
	flags.SetOutput(io.Discard) // the caller prints errors, once
	flags.Usage = func() {}     // or it would bury every error
	klog.InitFlags(flags)
	o.Log.program = program
	o.Log.register(flags)
	flags.StringVar(&o.kubelet, "kubelet-path", node.KubeletDir, "kubelet's `directory`; always a working directory")
	flags.Func("working-dir", "another `directory` below which operations are allowed; may be repeated",
		func(dir string) error {
			if dir == "" {
				return errors.New("empty value")
			}
			o.more = append(o.more, dir)
			return nil
		})
	for i, name := range []string{"kubelet-csi-plugins-path", "kubelet-pod-path"} {
		o.deprecated[i].name = name
		flags.StringVar(&o.deprecated[i].dir, name, "", "deprecated: another working `directory`")
	}
	flags.BoolVar(&o.config.Node.RequirePrivacy, "require-privacy", true, "ask for encryption on SMB global mappings")
	flags.BoolVar(&o.config.Node.EraseOnFormat, "erase-on-format", false,
		"let FormatVolume erase the files of an NTFS volume, for provisioners that empty released local volumes with it; "+
			"otherwise it refuses")
	flags.Func("protected-services",
		"`services` that no caller may stop, with commas: * stands for kubelet, the container runtime, the network, the "+
			"SMB client, Defender and others, -NAME takes one away; none: all may be stopped (default: *)",
		func(list string) error {
			o.config.Node.ProtectedServices = append(o.config.Node.ProtectedServices, strings.Split(list, ",")...)
			_, err := services.Protected(o.config.Node.ProtectedServices)
			return err
		})
	flags.StringVar(&o.metrics, "metrics-bind-address", "",
		"`address` (host:port) of /metrics, /healthz and /readyz over HTTP; empty: off")
	flags.BoolVar(&o.config.KernelHistograms, "metrics-kernel-histograms", false,
		"let /metrics have how long each kernel function takes, in 15 series for each")
	flags.DurationVar(&o.config.Server.CallTimeout, "call-timeout", 0,
		"how long every call may take, a `duration` from 1s to 115s; 0: 30s to look, 60s to change, 110s to wait for disks "+
			"or file systems")
	o.Audit.register(flags)
	flags.StringVar(&o.Policy, "policy", "",
		"`file` that says which clients may call what, read at the start; empty: all may call everything (csi-proxyctl "+
			"policy test FILE checks it)")
	flags.StringVar(&o.config.Transport.PipeSecurity, "pipe-security", "",
		"security descriptor of the API's pipes on Windows, in `SDDL` (default: SYSTEM and administrators)")
	flags.Func("api", "which `versions` of an API group are served, group=off or group=version,version; may be "+
		"repeated (default: all)", o.config.APIs.Set)
	return o
}

// Parse reads the command line. Its errors mean ExitUsage, except flag.ErrHelp: help was asked for.
func (o *Options) Parse(args []string) error {
	if len(args) == 1 {
		switch args[0] {
		case "-version", "--version":
			args = []string{"version"}
		case "help":
			return flag.ErrHelp
		}
	}
	if err := o.Flags.Parse(args); err != nil {
		return err
	}
	switch rest := o.Flags.Args(); {
	case len(rest) == 1 && rest[0] == "version":
		o.Version = true
		return nil
	case len(rest) > 0:
		return fmt.Errorf("unknown argument %q", rest[0])
	}
	o.Audit.File = OnDriveC(o.Audit.File)
	o.Policy = OnDriveC(o.Policy)
	if o.config.APIs.Empty() {
		return errors.New("-api: every API is off, nothing is left to serve")
	}
	if err := checkMetricsAddress(o.metrics); err != nil {
		return err
	}
	if err := server.CheckCallTimeout(o.config.Server.CallTimeout); err != nil {
		return fmt.Errorf("-call-timeout: %w", err)
	}
	if err := o.Audit.check(); err != nil {
		return err
	}
	if o.Given("pipe-security") {
		if err := transport.CheckPipeSecurity(o.config.Transport.PipeSecurity); err != nil {
			return fmt.Errorf("-pipe-security: %w", err)
		}
	}
	return o.Log.read(o.Flags)
}

// Given reports whether a flag is on the command line.
func (o *Options) Given(name string) (given bool) {
	o.Flags.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}

// WorkingDirs returns the directories below which operations are allowed.
func (o *Options) WorkingDirs() []string {
	dirs := append([]string{o.kubelet}, o.more...)
	for _, d := range o.deprecated {
		if d.dir != "" {
			dirs = append(dirs, d.dir)
		}
	}
	return dirs
}

// OnDriveC puts a rooted path without a drive on drive C of a Windows node: the current drive depends on the start.
func OnDriveC(path string) string { return onDriveC(path, runtime.GOOS) }
