// SPDX-License-Identifier: Apache-2.0

// Package inprocess is the library mode: a CSI driver that runs as a HostProcess container does the agent's work in its
// own process. It uses the same client, so that one line decides between the two:
//
//	var client *csiproxy.Client
//	if hostProcess {
//		node, err := inprocess.Open(inprocess.Options{})
//		…
//		client = node.Client()
//	} else {
//		client = csiproxy.New(csiproxy.Options{})
//	}
//
// Calls have the same meaning, path policy, time limits, locks, audit lines and errors as through the agent, but use no
// pipe and encode no messages. Drivers and agents that work on one node in different processes do not share their
// locks: Windows separates their work as it does for any two programs.
package inprocess
