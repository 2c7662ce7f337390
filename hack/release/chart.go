// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// chart packs the Helm chart with the release's version. Helm wants the version without a v; appVersion keeps it,
// because it is the image's tag.
func (r *release) chart(ctx context.Context) error {
	helm, err := command(ctx, r.root, nil, "go", "tool", "-modfile=tools/helm/go.mod", "-n", "helm")
	if err != nil {
		return err
	}
	version := strings.TrimPrefix(r.version, "v")
	if _, err := command(ctx, r.root, []string{fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.time.Unix())},
		string(bytes.TrimSpace(helm)),
		"package", "charts/csi-proxy", "--version", version, "--app-version", r.version, "--destination", r.out); err != nil {
		return err
	}
	// Without "chart" in its name it would look like another archive of the commands.
	return os.Rename(filepath.Join(r.out, "csi-proxy-"+version+".tgz"),
		filepath.Join(r.out, "csi-proxy-chart-"+version+".tgz"))
}
