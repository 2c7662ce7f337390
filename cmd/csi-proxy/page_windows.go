// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"net"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent"
)

// pageFlags refuse the page: it would only make the agent of real nodes larger.
type pageFlags struct{}

func (*pageFlags) register(flags *flag.FlagSet) {
	flags.Func("ui", "not on Windows: a web page that shows an emulated node", func(string) error {
		return errors.New("csi-proxy.exe has no page: run the emulated node on Linux for it, or use csi-proxyctl here")
	})
}

func (*pageFlags) check(string) error { return nil }

func (*pageFlags) listen() (net.Listener, error) {
	return nil, nil //nolint:nilnil // off is not a failure
}

func (*pageFlags) serve(context.Context, net.Listener, *agent.Agent, []string, klog.Logger) (stop func(), err error) {
	return func() {}, nil
}
