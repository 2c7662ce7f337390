// SPDX-License-Identifier: Apache-2.0

// Package scenario is the descriptions of new nodes: scenario files, the built-in profiles, and the switches.
package scenario

//go:generate go run ../../../hack/mkscenariokeys
