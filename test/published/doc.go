// SPDX-License-Identifier: Apache-2.0

// Package published proves what driver authors import: this repository's mounter, and code of CSI drivers as they are
// published, built with this repository's client in place of the one that they name. One replace line in go.mod is all
// that the latter takes; it works on Windows only, so it runs under Wine.
//
// It is a module of its own, so that neither the mounter's users nor the agent depend on a driver's dependencies.
package published
