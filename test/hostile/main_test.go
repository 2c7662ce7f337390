// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"flag"
	"os"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// accompliceSocket is set in the environment of a copy of this program that attacks a socket: the agent tells
// clients apart by their process.
const accompliceSocket = "HOSTILE_ACCOMPLICE_SOCKET"

// probeSocket likewise makes a copy ask for the health of the agent behind a socket.
const probeSocket = "HOSTILE_PROBE_SOCKET"

// childSocket and driverSocket make a copy a child that leaves calls behind, and a driver that calls once.
const (
	childSocket  = "HOSTILE_CHILD_SOCKET"
	driverSocket = "HOSTILE_DRIVER_SOCKET"
)

// copies are what such copies do with the value of their variable.
var copies = map[string]func(string) int{accompliceSocket: accomplice, probeSocket: probe, childSocket: child,
	driverSocket: driver, attackVariable: attacker}

func TestMain(m *testing.M) {
	for variable, do := range copies {
		if value := os.Getenv(variable); value != "" {
			os.Exit(do(value))
		}
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("6") // whatever the number of processors: most of these tests wait for what hangs
	}
	os.Exit(testnode.Main(m))
}
