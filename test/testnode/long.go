// SPDX-License-Identifier: Apache-2.0

package testnode

import "os"

// Long reports whether tests should try more than `make test` has time for. `make test-long` sets CSI_PROXY_LONG for
// that.
func Long() bool { return os.Getenv("CSI_PROXY_LONG") != "" }

// All reports whether tests should try everything, which takes hours: CSI_PROXY_LONG=all.
func All() bool { return os.Getenv("CSI_PROXY_LONG") == "all" }

// RaceDetector reports whether the tests are built with -race.
func RaceDetector() bool { return raceDetector }

// Sampled reports whether the disturbance with this number is to be tried: every nth, in a long run three times as
// many, beginning with a different one for each subject, so that the subjects together try most of them. All are tried
// if All says so. The race detector makes everything about four times as slow, so with it a quarter as many are tried:
// `make test-long` runs without it.
func Sampled(number, subject, every int) bool {
	switch {
	case All():
		return true
	case Long():
		every = (every + 2) / 3
	case raceDetector:
		every *= 4
	}
	return number%every == subject%every
}
