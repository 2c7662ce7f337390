// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package windows

import (
	"os"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

func TestMain(m *testing.M) { os.Exit(testnode.Main(m)) }
