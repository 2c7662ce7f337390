// SPDX-License-Identifier: Apache-2.0

// Package fromagent lets this repository's tests make a node of package csiproxytest, whose public functions have no
// internal type, of an agent that they configured themselves.
package fromagent

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/emulation"
)

// Node returns a *csiproxytest.Node, and stops the agent when the test and its subtests end. Package csiproxytest sets
// it.
var Node func(t testing.TB, a *emulation.Agent) any
