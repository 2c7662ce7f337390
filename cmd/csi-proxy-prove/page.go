// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"os"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

//go:embed page.html.tmpl
var pageText string

// page writes a report as one HTML file that needs no other.
func page(w io.Writer, r *proof.Report) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"class": func(v proof.Verdict) string { return strings.ReplaceAll(string(v), " ", "-") },
		"lines": func(lines []string) string { return strings.Join(lines, "\n") },
	}).Parse(pageText)
	if err != nil {
		return err
	}
	return t.Execute(w, r)
}

// show writes the page of a report.
func (k *kit) show(name string) (int, error) {
	file, err := os.Open(name)
	if err != nil {
		return exitNothing, err
	}
	defer file.Close()
	r, err := proof.Read(file)
	if err != nil {
		return exitNothing, fmt.Errorf("%s: %w", name, err)
	}
	if err := page(k.out, r); err != nil || !r.AllHeld() {
		return exitFailed, err
	}
	return exitHeld, nil
}
