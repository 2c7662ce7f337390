// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"github.com/kubernetes-csi/csi-proxy/internal/doctor"
	"github.com/kubernetes-csi/csi-proxy/internal/winservice"
)

// securityOf returns the security descriptor of a pipe in SDDL: its owner, and who may open it.
func securityOf(pipe string) (string, error) {
	descriptor, err := windows.GetNamedSecurityInfo(pipe, windows.SE_FILE_OBJECT,
		windows.OWNER_SECURITY_INFORMATION|windows.GROUP_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return "", err
	}
	return descriptor.String(), nil
}

// systemVersion returns the version of Windows.
func systemVersion() string {
	v := windows.RtlGetVersion()
	return fmt.Sprintf("Windows %d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
}

// automountOff reports whether mountvol /N was called on this machine. The mount manager keeps that in its service's key, as
// ReactOS' does (MountmgrWriteNoAutoMount). A container has a registry of its own, which says nothing about the node: that is an
// error.
func automountOff() (bool, error) {
	if _, err := read(`SYSTEM\CurrentControlSet\Control`, "ContainerType"); err == nil {
		return false, fmt.Errorf("a container does not see the node's registry")
	}
	off, err := read(`SYSTEM\CurrentControlSet\Services\MountMgr`, "NoAutoMount")
	if err == registry.ErrNotExist { //nolint:errorlint // the package returns exactly this
		return false, nil
	}
	return off != 0, err
}

// sanPolicy returns what Windows does with new disks. A machine on which nobody has set that has none in its registry.
func sanPolicy() (string, error) {
	if _, err := read(`SYSTEM\CurrentControlSet\Control`, "ContainerType"); err == nil {
		return "", fmt.Errorf("a container does not see the node's registry")
	}
	number, err := read(`SYSTEM\CurrentControlSet\Services\partmgr\Parameters`, "SanPolicy")
	if err == registry.ErrNotExist { //nolint:errorlint // the package returns exactly this
		return "", nil
	}
	return doctor.SANPolicyOf(number), err
}

// directories returns who may change the directories of the service's program and of its usual log.
func (*connection) directories() (all []doctor.Directory, err error) {
	paths := []string{defaultLogs}
	if scm, err := winservice.Connect(); err == nil { // not in a container
		installed, err := scm.Query("csiproxy")
		_ = scm.Close()
		if err == nil && len(installed.Command) > 0 {
			paths = append(paths, filepath.Dir(installed.Command[0]))
		}
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		who, failed := winservice.Writers(path)
		all, err = append(all, doctor.Directory{Path: path, Who: who}), errors.Join(err, failed)
	}
	return all, err
}

// read reads a number below HKEY_LOCAL_MACHINE.
func read(path, value string) (uint64, error) {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.QUERY_VALUE)
	if err != nil {
		return 0, err
	}
	defer func() { _ = key.Close() }()
	number, _, err := key.GetIntegerValue(value)
	return number, err
}
