// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
	"github.com/kubernetes-csi/csi-proxy/internal/recording"
)

// Load reads all recordings of a folder: those in recordings/*.jsonl.gz, and those in the reports of machines in
// reports.
func Load(evidence string) (all []recording.Recording, err error) {
	files, err := filepath.Glob(filepath.Join(evidence, "recordings", "*.jsonl.gz"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		some, err := recording.ReadFile(file)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	reports, err := filepath.Glob(filepath.Join(evidence, "reports", "*.json*"))
	if err != nil {
		return nil, err
	}
	for _, file := range reports {
		some, err := ofReport(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// ofReport returns the recordings in a report. A report that had no place for all calls cannot be replayed: a handle's
// calls may be there without the one that opened it.
func ofReport(file string) ([]recording.Recording, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	report, err := proof.Read(f)
	if err != nil {
		return nil, err
	}
	if report.CallsLeftOut > 0 {
		return nil, fmt.Errorf("%d of its calls were left out", report.CallsLeftOut)
	}
	var lines bytes.Buffer
	for _, call := range report.Calls {
		if err := json.Compact(&lines, call); err != nil { // the report is indented
			return nil, err
		}
		lines.WriteByte('\n')
	}
	return recording.Read(&lines)
}
