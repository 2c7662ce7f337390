// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func license(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestLicensesAreRecognised(t *testing.T) {
	apache := license(t, filepath.Join("..", "..", "LICENSE"))
	bsd := license(t, filepath.Join(runtime.GOROOT(), "LICENSE")) //nolint:staticcheck // of the Go that runs the test
	for _, test := range []struct {
		name    string
		texts   []text
		want    []string
		problem string // empty: it may be linked
	}{
		{"Apache", []text{{"LICENSE", apache}}, []string{"Apache-2.0"}, ""},
		{"BSD", []text{{"LICENSE", bsd}}, []string{"BSD-3-Clause"}, ""},
		{"two", []text{{"LICENSE", apache}, {"inside/LICENSE", bsd}}, []string{"Apache-2.0", "BSD-3-Clause"}, ""},
		{"a notice is no licence", []text{{"LICENSE", apache}, {"NOTICE", []byte("Made by somebody.")}},
			[]string{"Apache-2.0"}, ""},
		{"a licence of one's own", []text{{"LICENSE", []byte("You may use this on Sundays.")}}, []string{"unknown"},
			"the licence unknown is not one of"},
		{"a condition more", []text{{"LICENSE",
			append(bytes.Clone(bsd), bytes.Repeat([]byte("\nNobody may use this to serve more than three users on any day of "+
				"the week."), 40)...)}},
			[]string{"unknown"}, "the licence unknown is not one of"},
		{"copyleft", []text{{"COPYING", []byte("SPDX-License-Identifier: GPL-3.0-only\n\nThis program is free software: " +
			"you can redistribute it and/or modify\n" +
			"it under the terms of the GNU General Public License as published by\nthe Free Software Foundation, " +
			"version 3.\n")}}, nil, "example.com/m v1.0.0"},
		{"none", nil, nil, "no licence found"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := linked{path: "example.com/m", version: "v1.0.0", texts: test.texts}
			m.classify()
			if diff := cmp.Diff(m.licenses, test.want); test.want != nil && diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
			err := allowed([]linked{m})
			if test.problem == "" && err != nil {
				t.Error(err)
			}
			if test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)) {
				t.Errorf("got %v, want %q", err, test.problem)
			}
		})
	}
}

// entries returns the files of an archive: mode, time and content by name.
func entries(t *testing.T, name string, packed []byte) map[string]string {
	t.Helper()
	got := map[string]string{}
	add := func(name string, info fs.FileInfo, content io.Reader) {
		text, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		got[name] = info.Mode().String() + " " + info.ModTime().UTC().Format(time.RFC3339) + " " + string(text)
	}
	if name == "zip" {
		r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			content, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			add(f.Name, f.FileInfo(), content)
		}
		return got
	}
	compressed, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(compressed); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		add(header.Name, header.FileInfo(), archive)
	}
}

// An archive holds its files, and has the same bytes when it is made again, at another time and in another zone.
func TestArchivesDependOnTheirContentAlone(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	files := []file{{"README.md", []byte("read"), 0o644}, {"tool.exe", []byte("run"), 0o755}}
	for name, pack := range map[string]func(string, []file, time.Time) ([]byte, error){"zip": zipped, "tar": tarred} {
		one, err := pack("folder", files, at)
		if err != nil {
			t.Fatal(err)
		}
		other, err := pack("folder", files, at.In(time.FixedZone("elsewhere", 3600)).UTC())
		if err != nil || !bytes.Equal(one, other) {
			t.Errorf("%s: the same files give different bytes, %v", name, err)
		}
		if diff := cmp.Diff(entries(t, name, one), map[string]string{
			"folder/README.md": "-rw-r--r-- 2026-11-21T12:00:00Z read",
			"folder/tool.exe":  "-rwxr-xr-x 2026-11-21T12:00:00Z run",
		}); diff != "" {
			t.Errorf("%s: -got +want:\n%s", name, diff)
		}
	}
}

// The package of the protos is one that npm unpacks, with the names under which protobuf registers the files.
func TestProtosAreAPackage(t *testing.T) {
	r := release{root: filepath.Join("..", ".."), version: testVersion, out: t.TempDir(),
		time: time.Unix(0, 0).UTC(), log: io.Discard}
	if err := r.protos(); err != nil {
		t.Fatal(err)
	}
	var protos int
	var manifest struct{ Name, Version, License string }
	for entry, text := range entries(t, "tar", license(t, filepath.Join(r.out, "csi-proxy-protos-1.2.3.tgz"))) {
		_, content, _ := strings.Cut(text, "Z ") // behind the time
		name, ok := strings.CutPrefix(entry, "package/")
		if !ok {
			t.Errorf("%s is outside of the package", entry)
		}
		if name == "package.json" {
			if err := json.Unmarshal([]byte(content), &manifest); err != nil {
				t.Error(err)
			}
		}
		if strings.HasSuffix(name, ".proto") {
			protos++
			if content != string(license(t, filepath.Join("..", "..", name))) {
				t.Errorf("%s differs", name)
			}
			if strings.Contains(content, "\nimport ") && name != "client/api/api.proto" {
				t.Errorf("%s imports something, and docs/protos.md says that none does", name)
			}
		}
	}
	if protos < 23 || manifest.Name != "csi-proxy-protos" || manifest.Version != "1.2.3" ||
		manifest.License != "Apache-2.0" {
		t.Errorf("%d protos, package %+v", protos, manifest)
	}
}

func TestBill(t *testing.T) {
	got, err := bill("v1.2.3", time.Unix(0, 0).UTC(), target{"windows", "arm64"}, []linked{
		{path: module, own: true, licenses: []string{"Apache-2.0"}},
		{path: module + "/client", own: true, licenses: []string{"Apache-2.0"}},
		{path: "example.com/m", version: "v0.1.0", licenses: []string{"Apache-2.0", "MIT"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		BOMFormat, SpecVersion string
		Metadata               struct{ Component struct{ PURL string } }
		Components             []struct {
			PURL     string
			Licenses []struct{ Expression string }
		}
	}
	if err := json.Unmarshal(got, &read); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range read.Components {
		lines = append(lines, c.PURL+" "+c.Licenses[0].Expression)
	}
	if diff := cmp.Diff(append(lines, read.BOMFormat+" "+read.SpecVersion+" "+read.Metadata.Component.PURL), []string{
		"pkg:golang/" + module + "/client@v1.2.3 Apache-2.0",
		"pkg:golang/example.com/m@v0.1.0 Apache-2.0 AND MIT",
		"CycloneDX 1.6 pkg:golang/" + module + "@v1.2.3?goarch=arm64&goos=windows",
	}); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func TestMisuseFailsTheTest(t *testing.T) {
	for args, want := range map[string]string{
		"":                                       "Usage",
		"none":                                   `"none" is not a command`,
		"archives":                               "not of the form",
		"archives -version 1.2.3 -out x":         "not of the form",
		"archives -version v1.2 -out x":          "not of the form",
		"archives -version v2.0.3 -out x":        "of the module v2",
		"archives -version v1.2.3 -out x":        "-out and -man are required",
		"archives -version v1.2.3 -out x -man y": "SOURCE_DATE_EPOCH",
	} {
		t.Setenv("SOURCE_DATE_EPOCH", "")
		if err := run(t.Context(), strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", args, err, want)
		}
	}
}
