// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestModulePathIsReplaced(t *testing.T) {
	got := withoutModulePath([]string{"A=1", `PSModulePath=C:\7`, "PSMODULEPATH=", "PSModulePathOther=x", `=C:=C:\work`})
	if diff := cmp.Diff(got, []string{"A=1", "PSModulePathOther=x", `=C:=C:\work`}); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}
