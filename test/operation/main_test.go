// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"os"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

func TestMain(m *testing.M) { os.Exit(testnode.Main(m)) }
