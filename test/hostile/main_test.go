// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"os"
	"testing"
)

// accompliceSocket is set in the environment of a copy of this program that is to attack a socket: the agent tells
// clients apart by their process.
const accompliceSocket = "HOSTILE_ACCOMPLICE_SOCKET"

func TestMain(m *testing.M) {
	if socket := os.Getenv(accompliceSocket); socket != "" {
		os.Exit(accomplice(socket))
	}
	os.Exit(m.Run())
}
