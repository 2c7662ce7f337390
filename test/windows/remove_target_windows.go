// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-ole/go-ole"

	"github.com/kubernetes-csi/csi-proxy/internal/winservice"
)

// targetServerRuns reports whether the target server can be asked.
func targetServerRuns() (bool, error) {
	m, err := winservice.Connect()
	if err != nil {
		return false, err
	}
	defer func() { _ = m.Close() }()
	server, err := m.Query(targetService)
	if errors.Is(err, winservice.ErrNotInstalled) {
		return false, nil
	}
	if err == nil && server.State != winservice.Running {
		err = errors.New(targetService + " does not run")
	}
	return err == nil, err
}

// removeTarget removes a target: it has a random name, and the description that it was given or still none.
func removeTarget(_ context.Context, e Entry) error {
	if !isRandom(e.Name, "") {
		return NotOurs("its name is not a random one")
	}
	if runs, err := targetServerRuns(); !runs {
		return err
	}
	return withWMI(targetNamespace, func(services *ole.IDispatch) error {
		return each(services, "SELECT * FROM WT_Host WHERE HostName = '"+e.Name+"'", func(host *ole.IDispatch) error {
			description, err := text(host, "Description")
			if err != nil {
				return err
			}
			if description != "" && description != e.Mark {
				return NotOurs("it has another description")
			}
			if err := invoke(host, "RemoveAllWTDisks", nil); err != nil {
				return err
			}
			return done(host.CallMethod("Delete_"))
		})
	})
}

// removeTargetDisk removes a disk of the target server and its file.
func removeTargetDisk(ctx context.Context, e Entry) error {
	if !isRandom(filepath.Base(e.Name), diskFileEnding) {
		return NotOurs("its file's name is not a random one")
	}
	runs, err := targetServerRuns()
	if runs {
		err = withWMI(targetNamespace, func(services *ole.IDispatch) error {
			return each(services, "SELECT * FROM WT_Disk WHERE Description = '"+e.Mark+"'", func(disk *ole.IDispatch) error {
				path, err := text(disk, "DevicePath")
				if err != nil {
					return err
				}
				if !strings.EqualFold(path, e.Name) {
					return NotOurs("it has the file " + path)
				}
				return done(disk.CallMethod("Delete_"))
			})
		})
	}
	if err != nil {
		return err
	}
	if err := retry(ctx, func() error { return os.Remove(e.Name) }); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
