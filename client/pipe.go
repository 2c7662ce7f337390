// SPDX-License-Identifier: Apache-2.0

// Package client names the endpoints of a CSI Proxy agent.
//
// The module around it holds what a CSI driver needs to talk to the agent: the
// messages and stubs in api, one ready client for each API group and version in
// groups, and the shared dialling in dial.
package client

import "github.com/kubernetes-csi/csi-proxy/client/apiversion"

// pipePrefix is part of the contract with drivers, which compare and mount
// names made from it: the separators after the dot are doubled although this is
// a raw string. Windows folds repeated separators.
const pipePrefix = `\\.\\pipe\\csi-proxy-`

// PipePath returns the named pipe on which an agent serves apiVersion of the
// API group apiGroupName, for example disk and v1. Off Windows the same string
// stands for a unix socket; see package dial.
func PipePath(apiGroupName string, apiVersion apiversion.Version) string {
	return pipePrefix + apiGroupName + "-" + apiVersion.String()
}
