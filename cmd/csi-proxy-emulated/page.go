// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/emulation"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/page"
)

// listen opens the page's address before the agent starts, so that a taken port is an error at the start. Without
// -ui it returns nil.
func (f *pageFlags) listen() (net.Listener, error) {
	if f.address == "" {
		return nil, nil //nolint:nilnil // off is not a failure
	}
	l, err := net.Listen("tcp", f.address)
	if err != nil {
		return nil, fmt.Errorf("cannot serve the page: -ui=%s: %w; choose another port, or 0 for a free one, which the "+
			"log names", f.address, err)
	}
	return l, nil
}

// serve serves the page of an agent until stop is called.
func (f *pageFlags) serve(l net.Listener, a *emulation.Agent, workingDirs []string, logger klog.Logger) (stop func(),
	err error) {
	handler, err := page.New(page.Config{Agent: a, WorkingDirs: workingDirs, Hosts: f.hosts})
	if err != nil {
		return nil, err
	}
	logger.Info("serving the page", "url", "http://"+l.Addr().String()+"/")
	return page.Serve(l, handler), nil
}

// pageFlags are the flags of the web page of an emulated node.
type pageFlags struct {
	address string // host:port; empty: no page
	hosts   []string
}

func (f *pageFlags) register(flags *flag.FlagSet) {
	flags.StringVar(&f.address, "ui", "", "`address` (host:port) of a web page that shows the node; empty: none")
	flags.Func("ui-hosts",
		"`names` with commas by which browsers may reach the web page, besides those of this machine itself; needed for a "+
			"-ui address that is not a loopback one", f.addHosts)
}

// check refuses an address that other machines could reach, unless the names by which they do are given: with a name of
// its own choice, any site that a user visits could read the page.
func (f *pageFlags) check() error {
	if f.address == "" {
		if len(f.hosts) > 0 {
			return errors.New("-ui-hosts goes with -ui")
		}
		return nil
	}
	name, port, err := net.SplitHostPort(f.address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("-ui=%s is not a host:port such as 127.0.0.1:8080: %w", f.address, err)
	}
	at, err := netip.ParseAddr(name)
	if loopback := name == "localhost" || err == nil && at.IsLoopback(); !loopback && len(f.hosts) == 0 {
		return fmt.Errorf("-ui=%s lets other machines see the node: use 127.0.0.1, or name the page's hosts with "+
			"-ui-hosts", f.address)
	}
	return nil
}

// addHosts adds the items of a list of names or addresses with commas.
func (f *pageFlags) addHosts(value string) error {
	for name := range strings.SplitSeq(value, ",") {
		if name == "" || strings.ContainsAny(name, "/* ") {
			return fmt.Errorf("%q is not a host's name or address", name)
		}
		f.hosts = append(f.hosts, name)
	}
	return nil
}
