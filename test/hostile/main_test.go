// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"os"
	"testing"
)

// accompliceSocket is set in the environment of a copy of this program that attacks a socket: the agent tells
// clients apart by their process.
const accompliceSocket = "HOSTILE_ACCOMPLICE_SOCKET"

// probeSocket likewise makes a copy ask for the health of the agent behind a socket.
const probeSocket = "HOSTILE_PROBE_SOCKET"

func TestMain(m *testing.M) {
	if socket := os.Getenv(accompliceSocket); socket != "" {
		os.Exit(accomplice(socket))
	}
	if socket := os.Getenv(probeSocket); socket != "" {
		os.Exit(probe(socket))
	}
	os.Exit(m.Run())
}
