// SPDX-License-Identifier: Apache-2.0

// Package published proves what driver authors import: this repository's mounter, and code of published CSI
// drivers, built with this repository's client in place of the one that they name. That code needs one replace line in
// go.mod and works on Windows only, so it runs under Wine.
//
// Of the tests of the mounter, which calls the agent and nothing else, those with many calls do not run on Windows:
// Wine takes minutes for them.
//
// It is a module of its own, so that neither the mounter's users nor the agent depend on a driver's dependencies.
package published
