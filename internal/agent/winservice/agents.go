// SPDX-License-Identifier: Apache-2.0

package winservice

import "errors"

// agentNames are what distributions call a CSI Proxy's service, ours or the original: docs/move.md has the sources.
var agentNames = []string{"csiproxy", "csi-proxy"}

// Agents returns the services that have the name of an agent's.
func Agents(m Manager) (agents []Installed, err error) {
	for _, name := range agentNames {
		switch s, err := m.Query(name); {
		case err == nil:
			agents = append(agents, s)
		case !errors.Is(err, ErrNotInstalled):
			return nil, err
		}
	}
	return agents, nil
}
