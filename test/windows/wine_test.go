// SPDX-License-Identifier: Apache-2.0

package windows

import "runtime"

// onWine tells whether the tests run under Wine, which passes for Windows.
func onWine() bool { return runtime.GOOS == "windows" && isWine() }
