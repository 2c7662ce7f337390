// SPDX-License-Identifier: Apache-2.0

package testnode

import "os"

// Long reports whether tests should try everything instead of a sample. `make test-long` sets CSI_PROXY_LONG for that.
func Long() bool { return os.Getenv("CSI_PROXY_LONG") != "" }

// Sampled reports whether the disturbance with this number is to be tried: in a long run every one, otherwise every nth,
// beginning with a different one for each subject, so that the subjects together try most of them.
func Sampled(number, subject, every int) bool { return Long() || number%every == subject%every }
