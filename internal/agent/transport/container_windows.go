// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// containerJob is how containerd's shim and the Host Compute Service name the job object that holds the processes of a
// process-isolated container, before its id. SPIRE finds containers by the same names.
// https://github.com/spiffe/spire/blob/main/pkg/common/container/process/helper.go
const containerJob = "Container_"

// containerOf returns the id of the process-isolated container of a process, or NoContainer. The jobs of containers
// have names in the root of the object namespace, where only the node's administrators make objects; within a
// container, the same name lies in its own namespace. HostProcess containers have no such job.
func containerOf(process windows.Handle) (id string, err error) {
	in := int32(0)
	if err := isProcessInJob(process, 0, &in); err != nil {
		return "", err
	}
	if in == 0 {
		return NoContainer, nil
	}
	jobs, err := containerJobs()
	if err != nil {
		return "", err
	}
	for _, name := range jobs {
		const jobObjectQuery = 4
		job, err := openObject(ntOpenJobObject, jobObjectQuery, `\`+name)
		if errors.Is(err, windows.STATUS_OBJECT_NAME_NOT_FOUND) {
			continue // the container has ended, and its processes with it
		}
		if err != nil {
			return "", err
		}
		err = isProcessInJob(process, job, &in)
		_ = windows.CloseHandle(job)
		if err != nil {
			return "", err
		}
		if in != 0 {
			return strings.TrimPrefix(name, containerJob), nil
		}
	}
	return NoContainer, nil
}

// containerJobs returns the names of the containers' jobs.
func containerJobs() (names []string, err error) {
	const directoryQuery = 1
	root, err := openObject(ntOpenDirectoryObject, directoryQuery, `\`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = windows.CloseHandle(root) }()
	// OBJECT_DIRECTORY_INFORMATION, with its texts behind it in the same buffer.
	type entry struct{ name, kind windows.NTUnicodeString }
	buffer := make([]uint64, (64<<10)/8) // aligned, and without pointers, which the garbage collector would follow
	entries := unsafe.Slice((*entry)(unsafe.Pointer(&buffer[0])), uintptr(len(buffer))*8/unsafe.Sizeof(entry{}))
	position, err := uint32(0), error(windows.STATUS_MORE_ENTRIES)
	for restart := byte(1); errors.Is(err, windows.STATUS_MORE_ENTRIES); restart = 0 {
		err = ntQueryDirectoryObject(root, (*byte)(unsafe.Pointer(&buffer[0])), uint32(len(buffer)*8), 0, restart,
			&position, nil)
		if err != nil && !errors.Is(err, windows.STATUS_MORE_ENTRIES) {
			break
		}
		for i := 0; i < len(entries) && entries[i].name.Buffer != nil; i++ {
			if name := entries[i].name.String(); entries[i].kind.String() == "Job" && strings.HasPrefix(name, containerJob) {
				names = append(names, name)
			}
		}
	}
	if err != nil && !errors.Is(err, windows.STATUS_NO_MORE_ENTRIES) {
		return nil, err
	}
	return names, nil
}
