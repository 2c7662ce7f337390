// SPDX-License-Identifier: Apache-2.0

package winservice

import "strings"

// An Agent is a service that runs a CSI Proxy, ours or the original: distributions give it different names.
type Agent struct {
	Name    string
	Program string // csi-proxy.exe
	Wrapper string // what Windows starts in its place and what then starts it, such as nssm.exe; empty: nothing
}

// agentOf returns the agent that a service runs by its configuration. Application is what nssm, and srvany before it,
// keeps in the service's registry key; it stays there when the service is made to run another program.
// https://nssm.cc/usage
func agentOf(name string, command []string, application string) (agent Agent, found bool) {
	switch {
	case len(command) == 0:
		return Agent{}, false
	case isAgent(command[0]):
		return Agent{Name: name, Program: command[0]}, true
	default:
		return Agent{Name: name, Program: application, Wrapper: command[0]}, isAgent(application)
	}
}

// isAgent reports whether a Windows path is that of a CSI Proxy.
func isAgent(path string) bool {
	return strings.EqualFold(path[strings.LastIndexAny(path, `\/`)+1:], "csi-proxy.exe")
}
