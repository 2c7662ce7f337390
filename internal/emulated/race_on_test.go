// SPDX-License-Identifier: Apache-2.0

//go:build race

package emulated

// raceDetector reports whether the tests are built with -race.
const raceDetector = true
