// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/admin"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/emulation"
	"github.com/kubernetes-csi/csi-proxy/internal/page"
	"github.com/kubernetes-csi/csi-proxy/internal/webserver"
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
func (f *pageFlags) serve(ctx context.Context, l net.Listener, a *emulation.Agent, workingDirs []string,
	logger klog.Logger) (stop func(), err error) {
	c := page.Config{Harness: a.Harness, WorkingDirs: workingDirs, Hosts: f.hosts}
	closeClient := func() {}
	if !f.readOnly {
		if c.Admin, err = adminclient.DialPath(ctx, a.Path(admin.EndpointName)); err != nil {
			return nil, err
		}
		closeClient = func() { _ = c.Admin.Close() }
	}
	handler, err := page.New(c)
	if err != nil {
		closeClient()
		return nil, err
	}
	logger.Info("serving the page", "url", "http://"+l.Addr().String()+"/", "readOnly", f.readOnly)
	closePage := webserver.Serve(l, handler)
	return func() {
		closePage()
		closeClient()
	}, nil
}
