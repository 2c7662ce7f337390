// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	smbapi "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
)

// quoted matches a command or method in the documentation's tables.
var quoted = regexp.MustCompile("`([^`]+)`")

// TestDocumentationNamesEveryMethodAndCommand compares the table of the documentation with the API's newest versions and
// with the commands: it finds methods without a command, and commands that are not documented.
func TestDocumentationNamesEveryMethodAndCommand(t *testing.T) {
	text, err := os.ReadFile("../../docs/csi-proxyctl.md")
	if err != nil {
		t.Fatal(err)
	}
	var methods, commands []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !regexp.MustCompile("`(Disk|Volume|Filesystem|Smb|Iscsi|System|Admin)\\.").MatchString(cells[2]) {
			continue
		}
		service := ""
		for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
			before, method, dotted := strings.Cut(m[1], ".")
			if dotted {
				service = before
			} else {
				method = before
			}
			if service != "Admin" { // which is not part of the storage API
				methods = append(methods, service+"."+method)
			}
		}
		commands = append(commands, documented(cells[1])...)
	}
	slices.Sort(methods)
	if diff := cmp.Diff(slices.Compact(methods), hubMethods()); diff != "" {
		t.Errorf("methods in the documentation (-got +want):\n%s", diff)
	}
	slices.Sort(commands)
	if diff := cmp.Diff(commands, apiCommands(t)); diff != "" {
		t.Errorf("commands in the documentation (-got +want):\n%s", diff)
	}
}

// documented returns the commands of a cell. The second and later ones may consist of their last word alone.
func documented(cell string) []string {
	var commands []string
	var group []string
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		var words []string
		for _, word := range strings.Fields(m[1]) {
			if strings.ToLower(word) != word || word[0] == '-' || word[0] == '[' {
				break
			}
			words = append(words, word)
		}
		if len(commands) > 0 && len(words) == 1 {
			words = append(slices.Clone(group), words...)
		}
		group = words[:len(words)-1]
		commands = append(commands, strings.Join(words, " "))
	}
	return commands
}

// hubMethods returns the methods of the newest version of every group.
func hubMethods() []string {
	var all []string
	for _, file := range []protoreflect.FileDescriptor{
		diskapi.File_client_api_disk_v1_api_proto,
		filesystemapi.File_client_api_filesystem_v2alpha1_api_proto,
		iscsiapi.File_client_api_iscsi_v1alpha2_api_proto,
		smbapi.File_client_api_smb_v1_api_proto,
		systemapi.File_client_api_system_v1alpha1_api_proto,
		volumeapi.File_client_api_volume_v2alpha1_api_proto,
	} {
		service := file.Services().Get(0)
		for i := range service.Methods().Len() {
			all = append(all, string(service.Name()+"."+service.Methods().Get(i).Name()))
		}
	}
	slices.Sort(all)
	return all
}

// apiCommands returns the commands that call the storage API.
func apiCommands(t *testing.T) []string {
	t.Helper()
	var all []string
	root := rootCommand()
	for _, name := range []string{"disk", "volume", "fs", "smb", "iscsi", "system"} {
		group, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		pending := group.Commands()
		for len(pending) > 0 {
			c := pending[0]
			pending = append(pending[1:], c.Commands()...)
			if !c.HasSubCommands() {
				all = append(all, strings.TrimPrefix(c.CommandPath(), "csi-proxyctl "))
			}
		}
	}
	slices.Sort(all)
	return all
}
