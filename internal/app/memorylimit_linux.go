// SPDX-License-Identifier: Apache-2.0

package app

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// findMemoryBound returns the lowest limit of the memory cgroups that the process is in.
func findMemoryBound() (memoryBound, error) { return cgroupBound(os.DirFS("/")) }

// noLimit is what cgroup v1 shows for no limit, or less: the largest number, rounded to pages.
const noLimit = 1 << 62

// cgroupBound looks for the process's memory cgroups of either version below the file system's root, and for the limits
// of each and of its parents, as far as the mount shows them: a container may see its own cgroup as the root.
//
// https://docs.kernel.org/admin-guide/cgroup-v2.html and https://docs.kernel.org/admin-guide/cgroup-v1/memory.html
func cgroupBound(root fs.FS) (memoryBound, error) {
	own, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return memoryBound{}, err
	}
	mounts, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return memoryBound{}, err
	}
	var lowest memoryBound
	for mount := range strings.Lines(string(mounts)) {
		at, shows, file := memoryHierarchy(mount)
		if file == "" {
			continue
		}
		within, found := ownGroup(string(own), file == limitV1)
		if !found {
			continue
		}
		// A group that the mount does not show is at the mount's root, or above.
		group := at
		if below, ok := strings.CutPrefix(within, shows); ok && (below == "" || below[0] == '/' || shows == "/") {
			group = path.Join(at, path.Join("/", below)) // never above, as "/../.." would be
		}
		for ; ; group = path.Dir(group) {
			name := path.Join(group, file)
			if bytes := readLimit(root, name); bytes > 0 && (lowest.bytes == 0 || bytes < lowest.bytes) {
				lowest = memoryBound{bytes: bytes, by: name}
			}
			if group == at {
				break
			}
		}
	}
	return lowest, nil
}

// The files with the limits of the two versions.
const (
	limitV1 = "memory.limit_in_bytes"
	limitV2 = "memory.max"
)

// memoryHierarchy reads a line of mountinfo: the directory and the shown root of a hierarchy that may limit memory, and
// the name of its file; an empty name for every other mount.
func memoryHierarchy(line string) (at, shows, file string) {
	mount, system, found := strings.Cut(line, " - ")
	fields, of := strings.Fields(mount), strings.Fields(system)
	if !found || len(fields) < 5 || len(of) < 3 {
		return "", "", ""
	}
	switch {
	case of[0] == "cgroup2":
		file = limitV2
	case of[0] == "cgroup" && hasController(of[2]):
		file = limitV1
	default:
		return "", "", ""
	}
	return fields[4], fields[3], file
}

// ownGroup returns the process's group in the hierarchy of a version, from lines such as "4:cpu,memory:/group" and, for
// version 2, "0::/group".
func ownGroup(lines string, v1 bool) (group string, found bool) {
	for line := range strings.Lines(lines) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, ok := strings.Cut(rest, ":")
		if ok && (v1 && hasController(controllers) || !v1 && controllers == "") {
			return group, true
		}
	}
	return "", false
}

// hasController reports whether memory is in a list with commas.
func hasController(list string) bool { return strings.Contains(","+list+",", ",memory,") }

// readLimit returns the limit in a file; 0: there is none, as in the root of version 2, which has no such file.
func readLimit(root fs.FS, name string) uint64 {
	text, err := fs.ReadFile(root, strings.TrimPrefix(name, "/"))
	if err != nil {
		return 0
	}
	bytes, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || bytes >= noLimit {
		return 0 // "max"
	}
	return bytes
}
