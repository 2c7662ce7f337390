// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/winservice"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/machine"
)

// targetServerRuns reports whether the target server can be asked.
func targetServerRuns() (runs bool, err error) {
	err = withServices(func(m winservice.Manager) error {
		server, err := m.Query(targetService)
		if errors.Is(err, winservice.ErrNotInstalled) {
			return nil
		}
		if runs = err == nil && server.State == winservice.Running; err == nil && !runs {
			err = errors.New(targetService + " does not run")
		}
		return err
	})
	return runs, err
}

// removeTarget removes a target: it has a random name, and the description that it was given or still none.
func removeTarget(_ context.Context, e Entry) error {
	if !isRandom(e.Name, "") {
		return NotOurs("its name is not a random one")
	}
	if runs, err := targetServerRuns(); !runs {
		return err
	}
	foreign, err := powershell(`foreach ($target in Get-IscsiServerTarget | Where-Object TargetName -eq $env:TARGET) {
		if ($target.Description -and $target.Description -ne $env:MARK) { $target.Description; continue }
		foreach ($mapping in $target.LunMappings) {
			Remove-IscsiVirtualDiskTargetMapping -TargetName $env:TARGET -Path $mapping.Path
		}
		Remove-IscsiServerTarget -TargetName $env:TARGET
	}`, "TARGET="+e.Name, "MARK="+e.Mark)
	if err == nil && foreign != "" {
		err = NotOurs("it has the description " + foreign)
	}
	return err
}

// removeTargetDisk removes a disk of the target server and its file.
func removeTargetDisk(ctx context.Context, e Entry) error {
	if !isRandom(filepath.Base(e.Name), diskFileEnding) {
		return NotOurs("its file's name is not a random one")
	}
	runs, err := targetServerRuns()
	if runs {
		var foreign string
		foreign, err = powershell(`foreach ($disk in Get-IscsiVirtualDisk | Where-Object Description -eq $env:MARK) {
			if ($disk.Path -ne $env:FILE) { $disk.Path; continue }
			Remove-IscsiVirtualDisk -Path $disk.Path
		}`, "FILE="+e.Name, "MARK="+e.Mark)
		if err == nil && foreign != "" {
			err = NotOurs("it has the file " + foreign)
		}
	}
	if err != nil {
		return err
	}
	if err := machine.Retry(ctx, func() error { return os.Remove(e.Name) }); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
