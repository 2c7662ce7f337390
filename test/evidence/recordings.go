// SPDX-License-Identifier: Apache-2.0

package main

import (
	"compress/gzip"
	"fmt"
	"io/fs"

	"github.com/kubernetes-csi/csi-proxy/internal/recording"
)

// A recordedRun is a recording of kernel calls, beside the records. It proves nothing about a method, but decides what
// the emulated node answers.
type recordedRun struct {
	recording.Header
	calls int
}

func readRecordings(dir fs.FS) (all []recordedRun, err error) {
	names, err := fs.Glob(dir, "recordings/*.jsonl.gz")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		recordings, err := readRecording(dir, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, r := range recordings {
			all = append(all, recordedRun{r.Header, len(r.Calls)})
		}
	}
	return all, nil
}

func readRecording(dir fs.FS, name string) ([]recording.Recording, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return recording.Read(text)
}

// row is the recording's in the table of runs. Wine is never shown as Windows.
func (r recordedRun) row() string {
	system, command := r.Host+" "+r.Version, "`csi-proxy-prove`"
	if r.Host == recording.Wine {
		system, command = "Wine "+r.WineVersion, "`hack/record-wine.sh`"
	}
	return fmt.Sprintf("| %s, recorded | %d kernel calls, [compared with the emulated node](emulated-node-recorded.md) "+
		"| %s | | %s, %s | %s |\n",
		r.Host, r.calls, r.Date, system, r.Architecture, command)
}
