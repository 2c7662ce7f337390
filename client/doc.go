// SPDX-License-Identifier: Apache-2.0

// Package client names the endpoints of a CSI Proxy agent.
//
// The module around it holds what a CSI driver needs to talk to the agent: the
// messages and stubs in api, one ready client per API group and version in
// groups, and the dialling they share in dial.
package client
