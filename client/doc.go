// SPDX-License-Identifier: Apache-2.0

// Package client names the endpoints of a CSI Proxy agent.
//
// The module around it holds what a CSI driver needs to talk to the agent: the
// messages and stubs in api, one ready client for each API group and version in
// groups, and the shared dialling in dial.
package client
