// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package csiproxytest

import (
	"errors"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
)

func openMachine(testing.TB, string, bool) (realMachine, error) {
	return nil, errors.New(machine.NodeVariable + " chooses a Windows machine, and this is none")
}
