// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/fileowner"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/logfile"
)

// megabyte is the unit of klog's -log_file_max_size.
const megabyte = 1 << 20

// LogFlags are klog's flags and those that register adds. Klog would empty a full file, so package logfile writes them.
type LogFlags struct {
	ToStderr  bool
	File, Dir string // empty: none

	program    string
	format     string // text or json
	verbosity  int
	maxSize    uint64 // MB
	noHeader   bool
	every      time.Duration
	backups    uint
	backupSize uint64 // MB
}

// register adds the flags that klog does not have.
func (l *LogFlags) register(flags *flag.FlagSet) {
	flags.StringVar(&l.format, "logging-format", "text", "`format` of the log: text or json, an object for each line, "+
		"which goes to standard error or -log_file")
	flags.DurationVar(&l.every, "log_file_every", 24*time.Hour,
		"a new log file begins after this `duration`, counted from midnight UTC; 0: never (no effect when -logtostderr=true)")
	flags.UintVar(&l.backups, "log_file_backups", 7,
		"`count` of old log files that are kept; 0: all (no effect when -logtostderr=true)")
	flags.Uint64Var(&l.backupSize, "log_file_backups_size", 1800,
		"`megabytes` that old log files may take together; the newest is always kept; 0: no limit (no effect when "+
			"-logtostderr=true)")
}

// read reads the values of klog's flags, once they are parsed.
func (l *LogFlags) read(flags *flag.FlagSet) error {
	value := func(name string) any {
		return flags.Lookup(name).Value.(flag.Getter).Get() //nolint:forcetypeassert // every flag of klog's is one
	}
	l.ToStderr, l.noHeader = value("logtostderr") == true, value("skip_log_headers") == true
	l.maxSize, _ = value("log_file_max_size").(uint64)
	l.verbosity, _ = strconv.Atoi(flags.Lookup("v").Value.String())
	l.File, l.Dir = OnDriveC(fmt.Sprint(value("log_file"))), OnDriveC(fmt.Sprint(value("log_dir")))
	const most = 1 << 40 // a higher limit, in MB, would not fit its type in bytes
	switch {
	case l.format != "text" && l.format != "json":
		return fmt.Errorf("-logging-format=%s: it must be text or json", l.format)
	case l.format == "json" && !l.ToStderr && l.File == "":
		return errors.New("-logging-format=json writes one log: give -log_file=FILE, or leave -logtostderr as it is")
	case l.every < 0:
		return fmt.Errorf("-log_file_every=%v: it must be positive, or 0 for never", l.every)
	case l.maxSize > most || l.backupSize > most:
		return fmt.Errorf("-log_file_max_size and -log_file_backups_size are megabytes, at most %d; 0 is no limit",
			uint64(most))
	}
	return nil
}

func onDriveC(path, system string) string {
	if system != "windows" || path == "" || !strings.ContainsRune(`\/`, rune(path[0])) {
		return path
	}
	if len(path) > 1 && strings.ContainsRune(`\/`, rune(path[1])) {
		return path // \\server\share, \\?\C:\
	}
	return "C:" + path
}

// Open sends klog's lines to the files that the flags name, until closeLog flushes them and turns to standard error.
func (l *LogFlags) Open() (closeLog func(), err error) {
	if l.format == "json" && l.ToStderr {
		l.logJSON(os.Stderr)
	}
	switch {
	case l.ToStderr && l.File+l.Dir != "":
		klog.Background().Info("-log_file and -log_dir have no effect without -logtostderr=false: the log goes to " +
			"standard error")
		return klog.Flush, nil
	case l.ToStderr || l.File+l.Dir == "":
		return klog.Flush, nil // klog's own way: standard error, or files in the directory for temporary files
	}
	// A single file is the one for INFO, which gets all lines. Of several, each gets the lines of its severity and above.
	paths := map[string]string{"INFO": l.File}
	if l.File == "" {
		for _, severity := range []string{"INFO", "WARNING", "ERROR"} { // the agent has no fatal lines
			paths[severity] = filepath.Join(l.Dir, l.program+"."+severity+".log")
		}
	}
	var files []*logfile.File
	for severity, path := range paths {
		file, err := l.openFile(path)
		if err != nil {
			klog.LogToStderr(true) // or klog would open a file itself for its next line, and end the process if it cannot
			return nil, errors.Join(err, closeAll(files))
		}
		files = append(files, file)
		if l.format == "json" {
			l.logJSON(file)
			continue
		}
		klog.SetOutputBySeverity(severity, file)
	}
	return func() {
		klog.Flush()
		klog.ClearLogger()
		klog.LogToStderr(true)
		_ = closeAll(files)
	}, nil
}

func closeAll(files []*logfile.File) error {
	var errs []error
	for _, file := range files {
		errs = append(errs, file.Close())
	}
	return errors.Join(errs...)
}

func (l *LogFlags) openFile(path string) (*logfile.File, error) {
	if err := fileowner.MakePrivateDirectory(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("log directory: %w", err)
	}
	options := logfile.Options{
		MaxBytes: int64(l.maxSize) * megabyte, Every: l.every,
		Backups: int(l.backups), BackupBytes: int64(l.backupSize) * megabyte,
	}
	if !l.noHeader && l.format != "json" {
		options.Header = l.header
	}
	return logfile.Open(path, options)
}

// header returns the lines that begin a log file, worded as klog words them.
func (l *LogFlags) header(now time.Time) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("Log file created at: %s\nRunning on machine: %s\nBinary: %s\nLog line format: [IWEF]mmdd "+
		"hh:mm:ss.uuuuuu threadid file:line] msg\n", now.Format("2006/01/02 15:04:05"), host, Version(l.program))
}

// Describe returns a sentence on where the log of a service goes.
func (l *LogFlags) Describe() string {
	switch {
	case l.ToStderr:
		return "Its log goes to standard error, which a service does not have: give it -logtostderr=false -log_file=FILE."
	case l.File != "":
		return "Its log is " + l.File + "."
	}
	return "Its logs are in " + l.Dir + "."
}
