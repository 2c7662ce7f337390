// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"
	"testing/synctest"
	"time"
)

// bubble runs a test in fake time, and at its end lets the goroutines that wait for further operations give up.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(t)
		time.Sleep(2 * idleTime)
	})
}
