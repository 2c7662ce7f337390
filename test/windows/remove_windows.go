// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/Microsoft/go-winio/vhd"
	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/winservice"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/machine"
)

// removers returns how each kind of thing is removed.
func removers() map[Kind]remover {
	return map[Kind]remover{
		KindDirectory:     removeDirectory,
		KindDiskFile:      removeDiskFile,
		KindTarget:        removeTarget,
		KindTargetDisk:    removeTargetDisk,
		KindSession:       endSessions,
		KindInitiator:     restoreInitiator,
		KindService:       removeService,
		KindStopped:       stopAgain,
		KindRegistryValue: restoreRegistryValue,
		KindAutomount:     restoreAutomount,
	}
}

// identity returns the identity of a directory.
func identity(path string) (string, error) {
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := openPlain(path, 0, share, "")
	if err != nil {
		return "", err
	}
	defer func() { _ = windows.CloseHandle(h) }()
	return identityOf(h, path)
}

// identityOf returns the volume and the file ID of an open directory. In the ID NTFS counts how often the record was
// used.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getfileinformationbyhandle
func identityOf(h windows.Handle, path string) (string, error) {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(h, &info); err != nil {
		return "", &os.PathError{Op: "GetFileInformationByHandle", Path: path, Err: err}
	}
	const plain, kinds = windows.FILE_ATTRIBUTE_DIRECTORY,
		windows.FILE_ATTRIBUTE_DIRECTORY | windows.FILE_ATTRIBUTE_REPARSE_POINT
	if info.FileAttributes&kinds != plain {
		return "", fmt.Errorf("%s is not a directory", path)
	}
	return fmt.Sprintf("%x-%x%08x", info.VolumeSerialNumber, info.FileIndexHigh, info.FileIndexLow), nil
}

// pull detaches a virtual disk, if it is attached. Of one that is not, detaching fails.
func pull(ctx context.Context, path string) error {
	var handle syscall.Handle
	err := machine.Retry(ctx, func() (err error) {
		handle, err = vhd.OpenVirtualDisk(path, vhd.VirtualDiskAccessNone, vhd.OpenVirtualDiskFlagNone)
		return err
	})
	if err != nil {
		return err
	}
	return errors.Join(vhd.DetachVirtualDisk(handle), syscall.CloseHandle(handle))
}

// withServices calls a function with the Service Control Manager.
func withServices(do func(m winservice.Manager) error) error {
	m, err := winservice.Connect()
	if err != nil {
		return err
	}
	defer func() { _ = m.Close() }()
	return do(m)
}

// removeService stops and removes a service and its event source.
func removeService(ctx context.Context, e Entry) error {
	return withServices(func(m winservice.Manager) error {
		installed, err := m.Query(e.Name)
		switch {
		case errors.Is(err, winservice.ErrNotInstalled):
			return m.RemoveEvents(e.Name)
		case err != nil:
			return err
		case len(installed.Command) == 0 || !strings.EqualFold(installed.Command[0], e.Mark):
			return NotOurs(fmt.Sprintf("its program is %q", installed.Command))
		}
		_, err = winservice.Uninstall(ctx, m, e.Name)
		return err
	})
}

// stopAgain stops a service that was stopped. An iSCSI initiator or target server that is in use by now keeps running.
func stopAgain(ctx context.Context, e Entry) error {
	return withServices(func(m winservice.Manager) error {
		if service, err := m.Query(e.Name); err == nil && service.State == winservice.Running {
			switch used := Unavailable(""); e.Name {
			case initiatorService:
				if use, err := lookAtInitiator(nativeKernel()); err != nil || use.any() {
					return err
				}
			case targetService:
				if err := targetServerIsFree(); errors.As(err, &used) {
					return nil
				} else if err != nil {
					return err
				}
			}
		}
		err := winservice.Stop(ctx, m, e.Name)
		if errors.Is(err, winservice.ErrNotInstalled) {
			return nil
		}
		return err
	})
}
