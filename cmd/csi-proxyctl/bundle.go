// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/cmd/csi-proxyctl/redact"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/plainfile"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/doctor"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/journal"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/treeview"
)

// maxLog is the size of a log's end in a bundle. An issue takes 25 MB, compressed.
const maxLog = 8 << 20

// defaultLogs is the log directory of the install scripts.
const defaultLogs = `C:\etc\kubernetes\logs`

const bundleReadme = `This is what csi-proxyctl doctor --bundle found on a node, for an issue.

Passwords, secrets, keys and tokens were removed, as far as they look like such. Names of servers, shares, targets,
users, pods and volumes are in it, and so are serial numbers: look through it before you publish it.

  doctor.txt, doctor.json   the findings, and what to do
  version.json              of csi-proxyctl, of the agent and of the system
  endpoints.txt             the agent's pipes or sockets, how they answer, and who may open them
  tree.txt, tree.json       disks, partitions, volumes and mount points
  inspect.json              mappings, sessions, operations that run, links that lead nowhere
  journal.txt               the agent's last calls, of an emulated node only
  logs/                     the end of the agent's logs
  missing.txt               what is not available, and why
`

// A bundle is a zip file that is being written, with the first error.
type bundle struct {
	zip     *zip.Writer
	missing []string
	written int
	err     error
}

// add adds a file without its secrets.
func (b *bundle) add(name, text string) {
	w, err := b.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Now()})
	if err == nil {
		_, err = io.WriteString(w, redact.WithoutSecrets(text))
	}
	b.written++
	b.err = cmp.Or(b.err, err)
}

// addJSON adds a value.
func (b *bundle) addJSON(name string, value any) {
	text, err := json.MarshalIndent(value, "", "  ")
	b.err = cmp.Or(b.err, err)
	b.add(name, string(text)+"\n")
}

// addMissing records content that is not available.
func (b *bundle) addMissing(what string, err error) {
	if err != nil {
		b.missing = append(b.missing, what+": "+err.Error())
	}
}

// writeBundle writes the bundle to a new file.
func (a *connection) writeBundle(ctx context.Context, file string, logs []string, facts doctor.Facts,
	findings []doctor.Finding) (files int, err error) {
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return 0, fmt.Errorf("%s is there already, and no file is replaced; name a new one", file)
	}
	if err != nil {
		return 0, err
	}
	defer func() {
		if err = errors.Join(err, out.Close()); err != nil {
			_ = os.Remove(file)
		}
	}()
	b := &bundle{zip: zip.NewWriter(out), missing: slices.Clone(facts.Missing)}
	b.add("README.txt", bundleReadme)
	b.add("doctor.txt", findingsText(findings, facts.Missing))
	b.addJSON("doctor.json", map[string]any{"findings": findings, "missing": facts.Missing})
	client, agent, why := a.versions(ctx)
	if agent == nil {
		b.addMissing("the agent's version", why)
	}
	b.addJSON("version.json", map[string]any{"csiProxyctl": client, "agent": agent,
		"system": runtime.GOOS + "/" + runtime.GOARCH, "kernel": systemVersion()})
	b.add("endpoints.txt", endpointsText(facts.Endpoints))
	if facts.Tree != nil { // otherwise Missing has the reason
		var text strings.Builder
		b.err = cmp.Or(b.err, treeview.Write(&text, facts.Tree))
		b.add("tree.txt", text.String())
		b.addJSON("tree.json", facts.Tree)
	}
	if facts.Inspected != nil {
		b.addJSON("inspect.json", message{facts.Inspected})
	}
	var calls strings.Builder
	b.addMissing("the journal", a.eachPage(ctx, &nodeapi.ListJournalRequest{}, false,
		func(entries []*nodeapi.JournalEntry, _ uint64, _ bool) error {
			for _, e := range entries {
				calls.WriteString(journal.Line(e) + "\n")
			}
			return nil
		}))
	b.add("journal.txt", calls.String())
	b.addLogs(logs)
	b.add("missing.txt", strings.Join(append(b.missing, ""), "\n"))
	return b.written, errors.Join(b.err, b.zip.Close())
}

// endpointsText returns two lines for each pipe or socket: its state, and the accounts that may open it.
func endpointsText(all []doctor.Endpoint) string {
	var text strings.Builder
	for _, e := range all {
		if e.State == doctor.Absent {
			continue
		}
		security, err := securityOf(e.Address)
		if err != nil {
			security = "security not known: " + err.Error()
		}
		text.WriteString(strings.TrimSuffix(e.Address+"\t"+string(e.State)+"\t"+e.Detail, "\t") + "\n  " + security + "\n")
	}
	return cmp.Or(text.String(), "none\n")
}

// addLogs adds the ends of files, and of the files in directories whose names begin with csi-proxy.
func (b *bundle) addLogs(paths []string) {
	if len(paths) == 0 && runtime.GOOS == "windows" {
		paths = []string{defaultLogs}
	}
	if len(paths) == 0 {
		b.missing = append(b.missing, "logs: give --log FILE or DIRECTORY")
	}
	for _, path := range paths {
		files := []string{path}
		info, err := os.Stat(path)
		if b.addMissing("logs", err); err != nil {
			continue
		}
		if info.IsDir() {
			if files, _ = filepath.Glob(filepath.Join(path, "csi-proxy*")); len(files) == 0 {
				b.missing = append(b.missing, "logs: no file in "+path+" has a name that begins with csi-proxy")
			}
		}
		for _, file := range files {
			text, err := endOf(file)
			if b.addMissing("log "+file, err); err == nil {
				b.add("logs/"+filepath.Base(file), text)
			}
		}
	}
}

// endOf returns the end of a file from the beginning of a line. Others may write to a log's directory, and a link or a
// second name there would put a file of the reader's into the bundle.
func endOf(path string) (string, error) {
	file, err := plainfile.Open(path, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if names, err := plainfile.Names(file); err != nil || names > 1 {
		return "", cmp.Or(err, fmt.Errorf("it has %d names (hard links)", names))
	}
	from := max(0, info.Size()-maxLog)
	text, err := io.ReadAll(io.NewSectionReader(file, from, maxLog))
	if _, rest, found := strings.Cut(string(text), "\n"); from > 0 && found {
		return rest, err
	}
	return string(text), err
}
