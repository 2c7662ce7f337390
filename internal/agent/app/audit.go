// SPDX-License-Identifier: Apache-2.0

package app

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/audit"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/logfile"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// AuditFlags are the flags of the audit log.
type AuditFlags struct {
	File    string // empty: none
	maxSize uint64 // MB
	backups uint
}

func (f *AuditFlags) register(flags *flag.FlagSet) {
	flags.StringVar(&f.File, "audit-log", "",
		"`file` with a line of JSON for every call: caller, request, result; empty: none")
	flags.Uint64Var(&f.maxSize, "audit-log-max-size", 100, "`megabytes` after which a new audit log begins")
	flags.UintVar(&f.backups, "audit-log-backups", 10, "`count` of old audit logs that are kept; 0: all")
}

// check refuses impossible sizes.
func (f *AuditFlags) check() error {
	const most = 1 << 20 // a terabyte
	if f.maxSize < 1 || f.maxSize > most {
		return fmt.Errorf("-audit-log-max-size=%d: use 1 to %d megabytes", f.maxSize, most)
	}
	return nil
}

// open opens the audit log. Without one, the record is nil.
func (f *AuditFlags) open(logger klog.Logger) (record server.Recorder, closeLog func(), err error) {
	if f.File == "" {
		return nil, func() {}, nil
	}
	if _, err := os.Stat(filepath.Dir(f.File)); err != nil { // a mistyped path must not hide the log
		return nil, nil, fmt.Errorf("-audit-log: its directory must exist; make one that only administrators can change: %w",
			err)
	}
	file, err := logfile.Open(f.File, logfile.Options{MaxBytes: int64(f.maxSize) * megabyte,
		Backups: int(f.backups), Lost: audit.Lost})
	if err != nil {
		return nil, nil, fmt.Errorf("-audit-log: %w", err)
	}
	return audit.New(file, logger).Record, func() {
		if err := file.Close(); err != nil {
			logger.Error(err, "closing the audit log")
		}
	}, nil
}
