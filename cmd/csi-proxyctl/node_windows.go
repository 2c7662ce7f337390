// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/fileowner"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/doctor"
)

// space returns the free space of a file system, -1 if it is unknown, and its size.
func space(path string) (free, size int64) {
	var available, total uint64
	name, err := windows.UTF16PtrFromString(path)
	if err != nil || windows.GetDiskFreeSpaceEx(name, &available, &total, nil) != nil {
		return -1, 0
	}
	return int64(min(available, math.MaxInt64)), int64(min(total, math.MaxInt64))
}

// defaultLogs is the log directory of the install scripts.
const defaultLogs = `C:\etc\kubernetes\logs`

// directories returns the accounts that may change the directories of the services' programs and of the usual log.
func (*connection) directories() (all []doctor.Directory, err error) {
	paths := []string{defaultLogs}
	agents, _ := agentServices()
	for _, a := range agents {
		if len(a.Command) > 0 && filepath.IsAbs(a.Command[0]) {
			paths = append(paths, filepath.Dir(a.Command[0]))
		}
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		who, failed := fileowner.Writers(path)
		all, err = append(all, doctor.Directory{Path: path, Who: who}), errors.Join(err, failed)
	}
	return all, err
}

// registryNumber returns a number of the node below HKEY_LOCAL_MACHINE, or 0 if it is not set. It fails in a container,
// which has another registry.
func registryNumber(path, value string) (uint64, error) {
	if _, err := readRegistry(`SYSTEM\CurrentControlSet\Control`, "ContainerType"); err == nil {
		return 0, errors.New("a container does not see the node's registry")
	}
	number, err := readRegistry(path, value)
	if err == registry.ErrNotExist { //nolint:errorlint // the package returns exactly this
		return 0, nil
	}
	return number, err
}

func readRegistry(path, value string) (uint64, error) {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.QUERY_VALUE)
	if err != nil {
		return 0, err
	}
	defer func() { _ = key.Close() }()
	number, _, err := key.GetIntegerValue(value)
	return number, err
}
