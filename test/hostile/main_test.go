// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"flag"
	"os"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(attackVariable); name != "" {
		os.Exit(attacker(name))
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("6") // whatever the number of processors: most of these tests wait for what hangs
	}
	os.Exit(testnode.Main(m))
}
