// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent"
)

// supported returns an error: this build has no page, which would make the agent of real nodes larger.
func (*pageFlags) supported() error {
	return errors.New("-ui: csi-proxy.exe has no page; run the emulated node on Linux, or use csi-proxyctl here")
}

func (*pageFlags) listen() (net.Listener, error) {
	return nil, nil //nolint:nilnil // off is not a failure
}

func (*pageFlags) serve(context.Context, net.Listener, *agent.Agent, []string, klog.Logger) (stop func(), err error) {
	return func() {}, nil
}
