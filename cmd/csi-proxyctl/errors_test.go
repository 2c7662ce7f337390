// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"reflect"
	"slices"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// methodsWithout are the methods that have no command: drivers need them, and people see the same elsewhere.
var methodsWithout = []string{"GetClosestVolumeIDFromTargetPath", "IsVolumeFormatted"}

// TestEveryMethodHasACommand finds methods of the newest versions without a command.
func TestEveryMethodHasACommand(t *testing.T) {
	_, a := commands(io.Discard)
	for _, group := range []reflect.Type{
		reflect.TypeFor[csiproxy.DiskClient](), reflect.TypeFor[csiproxy.FilesystemClient](),
		reflect.TypeFor[csiproxy.ISCSIClient](), reflect.TypeFor[csiproxy.SMBClient](),
		reflect.TypeFor[csiproxy.SystemClient](), reflect.TypeFor[csiproxy.VolumeClient](),
	} {
		for method := range group.Methods() {
			if a.callers[method.Name] == nil && !slices.Contains(methodsWithout, method.Name) {
				t.Errorf("%v.%s has no command", group, method.Name)
			}
		}
	}
}
