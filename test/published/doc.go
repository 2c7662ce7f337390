// SPDX-License-Identifier: Apache-2.0

// Package published runs code of CSI drivers as they are published, built with this repository's client in place of the
// one that they name, against an agent on named pipes. One replace line in go.mod is all that it takes; the other is for
// the agent. The code works on Windows only, so the tests run under Wine.
package published
