// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"net"
	"strconv"

	"k8s.io/klog/v2"
)

// checkMetricsAddress refuses what is not host:port. Empty is off; an empty host is every address of the machine.
func checkMetricsAddress(address string) error {
	if address == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("-metrics-bind-address=%s is not a host:port such as 127.0.0.1:29660: %w", address, err)
	}
	return nil
}

// listenMetrics opens the metrics' address, nil if off. It comes before the agent: a taken port is an error then.
func listenMetrics(address string, logger klog.Logger) (net.Listener, error) {
	if address == "" {
		return nil, nil //nolint:nilnil // off is not a failure
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot serve metrics: -metrics-bind-address=%s: %w", address, err)
	}
	logger.Info("serving metrics and health", "address", l.Addr().String())
	if at, ok := l.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		logger.Info("Metrics and health at this address need no authentication and "+
			"show the node's operations; prefer a loopback address such as 127.0.0.1", "address", l.Addr().String())
	}
	return l, nil
}
