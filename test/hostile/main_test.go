// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"flag"
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
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("6") // whatever the number of processors: most of these tests wait for what hangs
	}
	os.Exit(m.Run())
}
