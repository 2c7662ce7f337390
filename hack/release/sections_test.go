// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"debug/buildinfo"
	"debug/pe"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// built is a small Windows program of Go's linker.
func built(t *testing.T, arch, ldflags string) []byte {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module small\n",
		"main.go": "package main\n\nimport \"os\"\n\nfunc main() { os.Exit(7) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command("go", "build", "-ldflags="+ldflags, "-o", "small.exe")
	command.Dir = dir
	command.Env = append(os.Environ(), "GOOS=windows", "GOARCH="+arch, "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return license(t, filepath.Join(dir, "small.exe"))
}

// image is a program as the loader lays it out in memory: what a section has there does not depend on its place in the file.
func image(t *testing.T, program []byte) (sections map[string][]byte, header *pe.OptionalHeader64) {
	t.Helper()
	f, err := pe.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	sections = map[string][]byte{}
	for _, s := range f.Sections {
		content, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		memory := make([]byte, s.VirtualSize)
		copy(memory, content)
		sections[s.Name] = memory
	}
	return sections, f.OptionalHeader.(*pe.OptionalHeader64)
}

func TestAlignedSectionsAreTheSameInMemory(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			program := built(t, arch, "-s -w")
			aligned, err := alignSections(program)
			if err != nil {
				t.Fatal(err)
			}
			want, before := image(t, program)
			got, after := image(t, aligned)
			if !cmp.Equal(got, want) {
				t.Error("a section is not the same in memory")
			}
			before.FileAlignment, before.SizeOfHeaders = page, page
			if diff := cmp.Diff(after, before); diff != "" {
				t.Errorf("the header: -got +want:\n%s", diff)
			}
			f, err := pe.NewFile(bytes.NewReader(aligned))
			if err != nil {
				t.Fatal(err)
			}
			end := uint32(page)
			for _, s := range f.Sections {
				if s.Offset != end || s.Size%page != 0 {
					t.Errorf("%s: got %d bytes at %d, want whole pages at %d", s.Name, s.Size, s.Offset, end)
				}
				end += s.Size
			}
			if int(end) != len(aligned) {
				t.Errorf("the sections end at %d, the file at %d", end, len(aligned))
			}
			if info, err := buildinfo.Read(bytes.NewReader(aligned)); err != nil || info.Path != "small" {
				t.Errorf("go version -m: got %v, %v", info, err)
			}
			if again, err := alignSections(aligned); err != nil || !bytes.Equal(again, aligned) {
				t.Errorf("a second time: %v, and the same bytes: %t", err, bytes.Equal(again, aligned))
			}
		})
	}
}

func TestWhatCannotBeAlignedIsRefused(t *testing.T) {
	stripped := built(t, "amd64", "-s -w")
	headers := int(binary.LittleEndian.Uint32(stripped[offsetOfNew:])) + signatureBytes + fileHeaderBytes
	with := func(offset int) []byte {
		changed := bytes.Clone(stripped)
		changed[headers+offset] = 1
		return changed
	}
	const checksum, directories = 64, 112
	for _, test := range []struct {
		name    string
		program []byte
		want    string
	}{
		{"symbols", built(t, "amd64", ""), "symbol table"},
		{"a checksum", with(checksum), "checksum"},
		{"a signature", with(directories + 8*pe.IMAGE_DIRECTORY_ENTRY_SECURITY + 4), "signed"},
		{"a debug directory", with(directories + 8*pe.IMAGE_DIRECTORY_ENTRY_DEBUG + 4), "debug directory"},
		{"another alignment in memory", with(32), "not to pages"},
		{"a cut file", stripped[:len(stripped)/2], ""},
		{"a text", []byte(strings.Repeat("no program ", 100)), ""},
		{"nothing", nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := alignSections(test.program); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
