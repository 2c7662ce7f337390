// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
	"github.com/kubernetes-csi/csi-proxy/internal/transport"
)

// options are the options of the command line.
type options struct {
	version bool // the subcommand

	host         string
	stateDir     string
	scenario     *emulated.Scenario // nil: the default one, or the node that is there
	socketDir    string
	pipeSecurity string // empty: the default
	workingDirs  []string
	privacy      bool
	erase        bool
	protected    protectedServices
	apis         apis.Selection
	readyFile    readyFile
	metrics      string
	page         pageFlags
	callTimeout  time.Duration // 0: each method's own
	audit        auditFlags
	policy       string   // a file; empty: clients may do everything
	deprecated   []string // deprecated flags that were given
	service      bool     // run as a Windows service
	log          logFlags
}

// list is a flag that may be repeated.
type list []string

func (l *list) String() string { return fmt.Sprint([]string(*l)) }

func (l *list) Set(value string) error {
	if value == "" {
		return errors.New("empty value")
	}
	*l = append(*l, value)
	return nil
}

// protectedServices is the flag with the services that no caller may stop.
type protectedServices []string

func (p *protectedServices) String() string { return strings.Join(*p, ",") }

// Set adds the items of a list with commas.
func (p *protectedServices) Set(value string) error {
	all := append(slices.Clone(*p), strings.Split(value, ",")...)
	if _, err := node.ProtectedServices(all); err != nil {
		return err
	}
	*p = all
	return nil
}

// hosts are the values of -host.
const (
	hostWindows  = "windows"
	hostEmulated = "emulated"
)

// parse reads the command line. Its errors mean exit code 2, except flag.ErrHelp: help was asked for and printed.
func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	var (
		more                            list
		kubelet, kubeletPlugins, podDir string
		scenario                        string
	)
	flags := flag.NewFlagSet("csi-proxy", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the caller prints errors, once
	klog.InitFlags(flags)
	o.log.register(flags)
	flags.StringVar(&kubelet, "kubelet-path", agent.KubeletDir, "kubelet's `directory`; always a working directory")
	flags.Var(&more, "working-dir", "another `directory` below which operations are allowed; may be repeated")
	flags.StringVar(&kubeletPlugins, "kubelet-csi-plugins-path", "", "deprecated: another working `directory`")
	flags.StringVar(&podDir, "kubelet-pod-path", "", "deprecated: another working `directory`")
	flags.BoolVar(&o.service, "windows-service", false, "run under the Windows Service Control Manager as csiproxy")
	flags.BoolVar(&o.privacy, "require-privacy", true, "ask for encryption on SMB global mappings")
	flags.BoolVar(&o.erase, "erase-on-format", false, "let FormatVolume erase the files of an NTFS volume, for provisioners that empty released local volumes with it; otherwise it refuses")
	flags.Var(&o.protected, "protected-services", "`services` that no caller may stop, with commas: * stands for kubelet, the container runtime, the network, the SMB client, Defender and others, -NAME takes one away; none: all may be stopped (default: *)")
	flags.StringVar((*string)(&o.readyFile), "ready-file", "", "`file` that exists while all endpoints accept calls; empty: none")
	flags.StringVar(&o.metrics, "metrics-bind-address", "", "`address` (host:port) of /metrics, /healthz and /readyz over HTTP; empty: off")
	flags.DurationVar(&o.callTimeout, "call-timeout", 0, "how long every call may take, a `duration` from 1s to 115s; 0: 30s to look, 60s to change, 110s to wait for disks or file systems")
	o.audit.register(flags)
	flags.StringVar(&o.policy, "policy", "", "`file` that says which clients may call what, read at the start; empty: all may call everything (csi-proxyctl policy test FILE checks it)")
	flags.StringVar(&o.host, "host", defaultHost(), "the node to work on: windows, or emulated, a Windows node made of files")
	flags.StringVar(&o.stateDir, "state-dir", "", "`directory` in which the emulated node lives; made if missing")
	flags.StringVar(&scenario, "scenario", "", "what a new emulated node is made of: a `file or profile` ("+strings.Join(emulated.Profiles(), ", ")+")")
	o.page.register(flags)
	flags.StringVar(&o.socketDir, "socket-dir", "", "`directory` of the unix sockets, where there are no named pipes (default: run in the state directory)")
	flags.StringVar(&o.pipeSecurity, "pipe-security", "", "security descriptor of the API's pipes on Windows, in `SDDL` (default: SYSTEM and administrators)")
	flags.Var(&o.apis, "api", "which `versions` of an API group are served, group=off or group=version,version; may be repeated (default: all)")
	flags.Usage = func() {} // or it would bury every error

	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			usage(flags, stderr)
		}
		return nil, err
	}
	switch rest := flags.Args(); {
	case len(rest) == 1 && rest[0] == "version":
		o.version = true
		return o, nil
	case len(rest) > 0:
		return nil, fmt.Errorf("unknown argument %q", rest[0])
	}
	o.audit.file = onDriveC(o.audit.file, runtime.GOOS)
	o.policy = onDriveC(o.policy, runtime.GOOS)
	o.readyFile = readyFile(onDriveC(string(o.readyFile), runtime.GOOS))
	o.workingDirs = append([]string{kubelet}, more...)
	flags.Visit(func(f *flag.Flag) {
		if f.Name == "kubelet-csi-plugins-path" || f.Name == "kubelet-pod-path" {
			o.deprecated = append(o.deprecated, "-"+f.Name)
		}
	})
	for _, dir := range []string{kubeletPlugins, podDir} {
		if dir != "" {
			o.workingDirs = append(o.workingDirs, dir)
		}
	}
	if err := o.check(flags); err != nil {
		return nil, err
	}
	if err := o.loadScenario(scenario, wasGiven(flags, "scenario")); err != nil {
		return nil, err
	}
	if err := o.log.read(flags); err != nil {
		return nil, err
	}
	if o.service {
		return o, o.checkService()
	}
	return o, nil
}

// check refuses flags that do not go together.
func (o *options) check(flags *flag.FlagSet) error {
	if o.service && runtime.GOOS != "windows" {
		return errors.New("-windows-service needs Windows: there is no Service Control Manager here")
	}
	switch o.host {
	case "":
		return errors.New("-host is required here: use -host=emulated -state-dir=DIR for a Windows node made of files")
	case hostWindows:
		if runtime.GOOS != "windows" {
			return fmt.Errorf("-host=windows needs Windows, and this is %s; use -host=emulated", runtime.GOOS)
		}
		if o.stateDir != "" {
			return errors.New("-state-dir goes with -host=emulated only")
		}
	case hostEmulated:
		if o.stateDir == "" {
			return errors.New("-host=emulated needs -state-dir=DIR, the directory in which the node lives")
		}
	default:
		return fmt.Errorf("-host=%s: the hosts are windows and emulated", o.host)
	}
	if o.apis.Empty() {
		return errors.New("-api: every API is off, nothing is left to serve")
	}
	if err := checkMetricsAddress(o.metrics); err != nil {
		return err
	}
	if err := o.page.check(o.host); err != nil {
		return err
	}
	if err := server.CheckCallTimeout(o.callTimeout); err != nil {
		return fmt.Errorf("-call-timeout: %w", err)
	}
	if err := o.audit.check(); err != nil {
		return err
	}
	return o.checkPlace(flags)
}

// checkPlace refuses flags that the endpoints of this system do not have: sockets have no security descriptor, and pipes no
// directory.
func (o *options) checkPlace(flags *flag.FlagSet) error {
	if runtime.GOOS == "windows" && o.socketDir != "" {
		return errors.New("-socket-dir is for systems without named pipes: on Windows the agent serves pipes")
	}
	if !wasGiven(flags, "pipe-security") {
		return nil
	}
	if err := transport.CheckPipeSecurity(o.pipeSecurity); err != nil {
		return fmt.Errorf("-pipe-security: %w", err)
	}
	return nil
}

// wasGiven reports whether a flag is on the command line.
func wasGiven(flags *flag.FlagSet, name string) (given bool) {
	flags.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}

// loadScenario reads the scenario of a node that does not exist yet.
func (o *options) loadScenario(nameOrPath string, given bool) error {
	switch {
	case !given:
		return nil
	case o.host != hostEmulated:
		return errors.New("-scenario goes with -host=emulated only")
	case nameOrPath == "":
		return errors.New("-scenario is empty: it needs a file or a profile")
	}
	s, err := emulated.LoadScenario(nameOrPath)
	if err != nil {
		return fmt.Errorf("-scenario: %w", err)
	}
	if emulated.Exists(o.stateDir) {
		return fmt.Errorf("-scenario is for a new node, and %s holds one: leave the flag out, or use an empty state directory", o.stateDir)
	}
	o.scenario = &s
	return nil
}

// defaultHost returns the real node on Windows, and no host elsewhere.
func defaultHost() string {
	if runtime.GOOS == "windows" {
		return hostWindows
	}
	return ""
}

func usage(flags *flag.FlagSet, w io.Writer) {
	_, _ = fmt.Fprint(w, `CSI Proxy serves storage operations of a Windows node to CSI drivers.

Usage:
  csi-proxy [flags]       serve; prints "ready N" when all N API endpoints accept calls
  csi-proxy version       print the version
  csi-proxy service ...   install, start, stop or remove the Windows service; csi-proxy service -help says more

Exit codes: 0 stopped by a signal, 1 failed, 2 wrong usage.

Flags:
`)
	flags.SetOutput(w)
	flags.PrintDefaults()
}
