// SPDX-License-Identifier: Apache-2.0

package emulated

import "github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"

// What a new node is made of.
type (
	Scenario    = scenario.Scenario
	Switches    = scenario.Switches
	AdapterSpec = scenario.Adapter
)

// DefaultScenario is scenario.Default.
func DefaultScenario() Scenario { return scenario.Default() }

// DefaultSwitches is scenario.DefaultSwitches.
func DefaultSwitches() Switches { return scenario.DefaultSwitches() }
