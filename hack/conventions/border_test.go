// SPDX-License-Identifier: Apache-2.0

package conventions_test

import (
	"slices"
	"strings"
	"testing"
)

// A room is a folder whose packages have one purpose.
type room struct {
	folder  string
	purpose string
	module  string   // the folder of the command's module
	command string   // links each package of the room, below module; empty: no command links any
	uses    []string // the other rooms whose packages it may link
}

// rooms are all there are below internal.
var rooms = []room{
	{"internal/agent", "what runs as SYSTEM on a node", ".", "./cmd/csi-proxy", nil},
	{"internal/local", "what calls the node's operations in its own process", ".", "", []string{"internal/agent"}},
	{"internal/operator", "what looks at a node, real or emulated, for an operator", "cmd/csi-proxyctl", ".",
		[]string{"internal/agent"}},
	{"internal/emulated", "a Windows node made of files", ".", "./cmd/csi-proxy-emulated",
		[]string{"internal/agent", "internal/local", "internal/operator"}},
	{"internal/testing", "what only tests link", ".", "",
		[]string{"internal/agent", "internal/local", "internal/operator", "internal/emulated", "csiproxytest"}},
}

// shared are the packages of the client, besides messages, that the agent links.
var shared = []string{"client/api", "client/apiversion", "client/kubeletpath", "client/reason", "client/versions"}

// TestBorder holds each package below internal in the room of its purpose.
func TestBorder(t *testing.T) {
	inRoot(t)
	for _, r := range rooms {
		within := ownPackages(t, "./"+r.folder+"/...")
		for _, name := range ownPackages(t, "-deps", "./"+r.folder+"/...") {
			if of := roomOf(name); of != "" && of != r.folder && !slices.Contains(r.uses, of) {
				t.Errorf("%s is %s, and links %s", r.folder, r.purpose, name)
			}
		}
		if r.command == "" {
			continue
		}
		linked := ownPackages(t, "-C", r.module, "-deps", r.command)
		for _, name := range within {
			if !slices.Contains(linked, name) {
				t.Errorf("%s lies in %s, which is %s, and its command does not link it", name, r.folder, r.purpose)
			}
		}
		for _, name := range linked {
			if of := roomOf(name); of == "csiproxytest" || of == "internal/testing" {
				t.Errorf("the command of %s links %s, which is for tests", r.folder, name)
			}
			messages := strings.HasPrefix(name, "client/api/") || strings.HasPrefix(name, "api/admin/")
			if r.folder == "internal/agent" && roomOf(name) != r.folder && !messages &&
				!slices.Contains(append(shared, "cmd/csi-proxy"), name) {
				t.Errorf("csi-proxy.exe links %s, which lies outside internal/agent", name)
			}
		}
	}
	for _, name := range ownPackages(t, "./internal/...") {
		if roomOf(name) == "" {
			t.Errorf("%s lies in no room", name)
		}
	}
}

// roomOf returns the room of a package of the root's module; csiproxytest is one.
func roomOf(name string) string {
	for _, folder := range []string{"csiproxytest", "internal/agent", "internal/local", "internal/operator",
		"internal/emulated", "internal/testing"} {
		if name == folder || strings.HasPrefix(name, folder+"/") {
			return folder
		}
	}
	return ""
}

// ownPackages lists packages of this repository, as csi-proxy.exe's system has them, by their folders.
func ownPackages(t *testing.T, arguments ...string) (found []string) {
	t.Helper()
	for _, name := range goList(t, "windows", arguments...) {
		if own, is := strings.CutPrefix(name, "github.com/kubernetes-csi/csi-proxy/"); is {
			found = append(found, own)
		}
	}
	return found
}
