// SPDX-License-Identifier: Apache-2.0

// Package npd lets a real node-problem-detector run the custom plugin of deploy/npd on an emulated node. It is built
// from its module, which takes minutes, so `make check-npd` and the weekly workflow do that.
package npd
