// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/policy"
	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

// The examples in deploy/policies allow what the drivers of file shares do. Their clients here have the newest version of
// the filesystem group.
func TestShareDriversUnderTheExamples(t *testing.T) {
	forBothDrivers(t, func(t *testing.T, removesMapping bool) {
		file := map[bool]string{true: "smb", false: "azure-file"}[removesMapping]
		text, err := os.ReadFile("../../deploy/policies/" + file + ".yaml")
		noError(t, err)
		_, err = policy.Parse(file, text)
		noError(t, err)
		text = regexp.MustCompile(`(?s)  clients:.*?  methods:`).ReplaceAll(text, []byte("  clients: [{any: true}]\n  methods:"))
		text = regexp.MustCompile(`(kubernetes\.io\\csi\\)\S+`).ReplaceAll(text, []byte(`${1}smb.csi.k8s.io`))
		text = regexp.MustCompile(`smbServers: \[[^]]*\]`).ReplaceAll(text, []byte(`smbServers: ['*.emulated']`))
		p, err := policy.Parse(file, []byte(strings.ReplaceAll(string(text), "filesystem/v1/", "filesystem/")))
		noError(t, err)
		newShareDriverOn(t, testnode.Options{Policy: p}, removesMapping).live()
	})
}
