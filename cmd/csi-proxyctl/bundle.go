// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
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

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/doctor"
	"github.com/kubernetes-csi/csi-proxy/internal/journal"
	"github.com/kubernetes-csi/csi-proxy/internal/redact/texts"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

// maxLog is how much of the end of a log a bundle has: an issue takes 25 MB, compressed.
const maxLog = 8 << 20

// defaultLogs is where the install scripts let the agent write its log.
const defaultLogs = `C:\etc\kubernetes\logs`

const bundleReadme = `This is what csi-proxyctl doctor --bundle found on a node, for an issue.

Passwords, secrets, keys and tokens were removed, as far as they look like such. Names of servers, shares, targets,
users, pods and volumes are in it, and so are serial numbers: look through it before you publish it.

  doctor.txt, doctor.json   what is wrong with the node, and what to do
  version.json              of csi-proxyctl, of the agent and of the system
  endpoints.txt             the agent's pipes or sockets, how they answer, and who may open them
  tree.txt, tree.json       disks, partitions, volumes and mount points
  inspect.json              mappings, sessions, operations that run, links that lead nowhere
  journal.txt               the agent's last calls, of an emulated node only
  logs/                     the end of the agent's logs
  missing.txt               what could not be had, and why
`

// A bundle is a zip file that is being written. What could not be had is in missing.
type bundle struct {
	zip     *zip.Writer
	missing []string
	written int
}

// add adds a file, without secrets.
func (b *bundle) add(name, text string) error {
	w, err := b.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Now()})
	if err == nil {
		_, err = io.WriteString(w, texts.WithoutSecrets(text))
		b.written++
	}
	return err
}

// addJSON adds a value.
func (b *bundle) addJSON(name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return b.add(name, string(text)+"\n")
}

// lacks notes what could not be had.
func (b *bundle) lacks(what string, err error) {
	if err != nil {
		b.missing = append(b.missing, what+": "+err.Error())
	}
}

// writeBundle writes what a person needs who is to find out what is wrong with this node. It does not replace a file.
func (a *connection) writeBundle(ctx context.Context, file string, logs []string, facts doctor.Facts,
	findings []doctor.Finding, missing []string) (files int, err error) {
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err = errors.Join(err, out.Close()); err != nil {
			_ = os.Remove(file)
		}
	}()
	b := &bundle{zip: zip.NewWriter(out), missing: slices.Clone(missing)}
	v, why := a.versions(ctx)
	if v.Agent == nil {
		b.lacks("the agent's version", why)
	}
	var errs []error
	if facts.Tree != nil { // otherwise doctor has said why
		var text strings.Builder
		errs = append(errs, treeview.Write(&text, facts.Tree), b.add("tree.txt", text.String()),
			b.addJSON("tree.json", facts.Tree))
	}
	if facts.Inspected != nil {
		errs = append(errs, b.addJSON("inspect.json", message{facts.Inspected}))
	}
	err = errors.Join(append(errs,
		b.add("README.txt", bundleReadme),
		b.add("doctor.txt", findingsText(findings, missing)),
		b.addJSON("doctor.json", map[string]any{"findings": findings, "missing": missing}),
		b.addJSON("version.json", map[string]any{"csiProxyctl": v.Client, "agent": v.Agent,
			"system": runtime.GOOS + "/" + runtime.GOARCH, "kernel": systemVersion()}),
		b.add("endpoints.txt", endpointsText(facts.Endpoints)),
		a.addJournal(ctx, b),
		b.addLogs(logs),
		b.add("missing.txt", strings.Join(append(b.missing, ""), "\n")),
		b.zip.Close(),
	)...)
	return b.written, err
}

// endpointsText returns a line for each pipe or socket, and who may open it.
func endpointsText(all []doctor.Endpoint) string {
	var text strings.Builder
	for _, e := range all {
		if e.State == doctor.Absent {
			continue
		}
		fmt.Fprintf(&text, "%s\t%s", e.Address, e.State)
		if e.Detail != "" {
			text.WriteString("\t" + e.Detail)
		}
		text.WriteByte('\n')
		security, err := securityOf(e.Address)
		if err != nil {
			security = "security not known: " + err.Error()
		}
		text.WriteString("  " + security + "\n")
	}
	if text.Len() == 0 {
		return "none\n"
	}
	return text.String()
}

// addJournal adds the journal of an emulated node.
func (a *connection) addJournal(ctx context.Context, b *bundle) error {
	var text strings.Builder
	err := a.call(ctx, func(ctx context.Context, client *adminclient.Client) error {
		for r := (&admin.ListJournalRequest{}); ; {
			page, err := client.ListJournal(ctx, r)
			if err != nil {
				return err
			}
			entries := page.GetEntries()
			if r.After = page.GetSearched(); r.GetAfter() >= page.GetNewest() {
				entries = append(entries, page.GetRunning()...)
			}
			for _, e := range entries {
				text.WriteString(journal.Line(e) + "\n")
			}
			if r.GetAfter() >= page.GetNewest() {
				return nil
			}
		}
	})
	b.lacks("the journal", err)
	return b.add("journal.txt", text.String())
}

// addLogs adds the ends of logs: of files, and of those in directories whose names begin with csi-proxy.
func (b *bundle) addLogs(places []string) error {
	if len(places) == 0 && runtime.GOOS == "windows" {
		places = []string{defaultLogs}
	}
	if len(places) == 0 {
		b.missing = append(b.missing, "logs: give --log FILE or DIRECTORY")
	}
	var errs []error
	for _, place := range places {
		files := []string{place}
		if info, err := os.Stat(place); err != nil {
			b.lacks("logs", err)
			continue
		} else if info.IsDir() {
			files, _ = filepath.Glob(filepath.Join(place, "csi-proxy*"))
			if len(files) == 0 {
				b.missing = append(b.missing, "logs: no file in "+place+" has a name that begins with csi-proxy")
			}
		}
		for _, file := range files {
			text, err := endOf(file)
			b.lacks("log "+file, err)
			if err == nil {
				errs = append(errs, b.add("logs/"+filepath.Base(file), text))
			}
		}
	}
	return errors.Join(errs...)
}

// endOf returns the end of a file, beginning with a line.
func endOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%w: it is not a regular file", fs.ErrInvalid)
	}
	from := max(0, info.Size()-maxLog)
	text, err := io.ReadAll(io.NewSectionReader(file, from, maxLog))
	if _, rest, found := strings.Cut(string(text), "\n"); from > 0 && found {
		return rest, err
	}
	return string(text), err
}
