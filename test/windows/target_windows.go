// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-ole/go-ole"

	"github.com/kubernetes-csi/csi-proxy/internal/winservice"
)

// The iSCSI target server's own classes, by which its cmdlets and OpenStack's os-win (iscsi_target_utils.py) control
// it.
// https://learn.microsoft.com/previous-versions/windows/desktop/iscsitarg/wt-host
const (
	targetNamespace = `ROOT\WMI`
	targetService   = "WinTarget"
	targetPort      = 3260
)

// NewTarget makes the machine its own storage system until the test ends. An Unavailable tells why it cannot: it
// installs nothing, and it does not disturb a target server that serves others.
func NewTarget(t testing.TB) (Target, error) {
	t.Helper()
	if err := prepareTargetServer(t); err != nil {
		return Target{}, err
	}
	if err := BorrowInitiator(t); err != nil {
		return Target{}, err
	}
	name, mark := randomName(), "made by csi-proxy-prove "+random(8)
	file := filepath.Join(t.TempDir(), randomName()+diskFileEnding)
	made := Target{Port: targetPort, User: "csi-user", Secret: random(7)} // 14 characters of the 12 to 16
	var err error
	if made.Address, err = answering(t.Context(), made.Port); err != nil {
		return Target{}, Unavailable(fmt.Sprintf("the iSCSI target server answers on no address of this machine: %v", err))
	}
	for _, thing := range []struct {
		Entry
		make func() error
	}{
		{Entry{Kind: KindTargetDisk, Name: file, Mark: mark}, func() error { return makeTargetDisk(file, mark) }},
		{Entry{Kind: KindTarget, Name: name, Mark: mark}, func() (err error) {
			made.IQN, err = makeTarget(name, mark, made.User, made.Secret)
			return err
		}},
	} {
		if err := provision(t, thing.Entry, func(*Entry) error { return thing.make() }); err != nil {
			return Target{}, err
		}
	}
	// Noted last, and so ended first: a target that goes under its sessions leaves the initiator connecting and its disks
	// hanging.
	// which others make
	return made, provision(t, Entry{Kind: KindSession, Name: made.IQN}, func(*Entry) error { return nil })
}

// prepareTargetServer starts the target server and has it serve the machine that it runs on, which it refuses unless
// told otherwise.
func prepareTargetServer(t testing.TB) error {
	t.Helper()
	m, err := winservice.Connect()
	if err != nil {
		return err
	}
	defer func() { _ = m.Close() }()
	server, err := m.Query(targetService)
	if errors.Is(err, winservice.ErrNotInstalled) {
		return Unavailable("the iSCSI target server is not installed on this machine; on Windows Server it is the feature " +
			"FS-iSCSITarget-Server")
	}
	if err != nil {
		return err
	}
	allowed := registryNumber{`SOFTWARE\Microsoft\iSCSI Target`, "AllowLoopBack", 1}
	before, err := allowed.read()
	if err != nil {
		return err
	}
	if err := mayStart("iSCSI target server", server.State, server.Start); err != nil {
		return err
	}
	if server.State != winservice.Running {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := provision(t, Entry{Kind: KindStopped, Name: targetService},
			func(*Entry) error { return winservice.Start(ctx, m, targetService) })
		if err != nil {
			return err
		}
	}
	if err := targetServerIsFree(); err != nil {
		return err
	}
	if err := allowed.set(t); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if before != "1" {
		if err := winservice.Stop(ctx, m, targetService); err != nil {
			return err
		}
	}
	return winservice.Start(ctx, m, targetService)
}

// targetServerIsFree returns an Unavailable if the target server has targets that the tests did not make.
func targetServerIsFree() error {
	var hosts []string
	err := withWMI(targetNamespace, func(services *ole.IDispatch) error {
		return each(services, "SELECT * FROM WT_Host", func(host *ole.IDispatch) error {
			name, err := text(host, "HostName")
			hosts = append(hosts, name)
			return err
		})
	})
	if err != nil {
		return err
	}
	return hasNoForeignTargets(hosts)
}

// makeTargetDisk makes a disk of 1 GiB.
// https://learn.microsoft.com/previous-versions/windows/desktop/iscsitarg/newwtdisk-wt-disk
func makeTargetDisk(file, description string) error {
	return withWMI(targetNamespace, func(services *ole.IDispatch) error {
		class, err := services.CallMethod("Get", "WT_Disk")
		if err != nil {
			return err
		}
		return withObject(class, func(class *ole.IDispatch) error {
			return invoke(class, "NewWTDisk", map[string]any{"DevicePath": file, "Description": description,
				"SizeInMB": int32(1024)})
		})
	})
}

// makeTarget makes a target with CHAP, for every initiator, and gives it the disk with the description.
// https://learn.microsoft.com/previous-versions/windows/desktop/iscsitarg/newhost-wt-host
func makeTarget(name, description, user, secret string) (iqn string, err error) {
	const byIQN = 4 // the Method of WT_IDMethod whose Value is an IQN
	err = withWMI(targetNamespace, func(services *ole.IDispatch) error {
		class, err := services.CallMethod("Get", "WT_Host")
		if err != nil {
			return err
		}
		err = withObject(class, func(class *ole.IDispatch) error {
			return invoke(class, "NewHost", map[string]any{"HostName": name})
		})
		if err != nil {
			return err
		}
		class, err = services.CallMethod("Get", "WT_IDMethod")
		if err != nil {
			return err
		}
		err = withObject(class, func(class *ole.IDispatch) error {
			v, err := class.CallMethod("SpawnInstance_")
			if err != nil {
				return err
			}
			return withObject(v, func(id *ole.IDispatch) error {
				return store(id, map[string]any{"HostName": name, "Method": int32(byIQN), "Value": "*"})
			})
		})
		if err != nil {
			return err
		}
		return each(services, "SELECT * FROM WT_Host WHERE HostName = '"+name+"'", func(host *ole.IDispatch) error {
			if iqn, err = text(host, "TargetIQN"); err != nil {
				return err
			}
			err := store(host, map[string]any{"Description": description, "EnableCHAP": true,
				"CHAPUserName": user, "CHAPSecret": secret})
			if err != nil {
				return err
			}
			return each(services, "SELECT * FROM WT_Disk WHERE Description = '"+description+"'",
				func(disk *ole.IDispatch) error {
					number, err := disk.GetProperty("WTD")
					if err != nil {
						return err
					}
					return invoke(host, "AddWTDisk", map[string]any{"WTD": int32(number.Val)})
				})
		})
	})
	if err == nil && iqn == "" {
		err = errors.New("the target has no IQN")
	}
	return iqn, err
}

// store sets properties and writes the instance back.
// https://learn.microsoft.com/windows/win32/wmisdk/swbemobject-put-
func store(object *ole.IDispatch, values map[string]any) error {
	if err := put(object, values); err != nil {
		return err
	}
	return done(object.CallMethod("Put_"))
}

// answering returns the first IPv4 address of the machine on which a port takes connections. The target server does not
// listen on the loopback address.
func answering(ctx context.Context, port uint32) (string, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second) // it was restarted a moment ago
	defer cancel()
	dialer := net.Dialer{Timeout: 2 * time.Second}
	for {
		var failures []error
		for _, a := range addresses {
			network, ok := a.(*net.IPNet)
			if !ok || network.IP.To4() == nil || network.IP.IsLoopback() {
				continue
			}
			conn, err := dialer.DialContext(ctx, "tcp4", net.JoinHostPort(network.IP.String(), fmt.Sprint(port)))
			if err == nil {
				return network.IP.String(), conn.Close()
			}
			failures = append(failures, err)
		}
		if len(failures) == 0 {
			return "", errors.New("it has no IPv4 address but loopback")
		}
		select {
		case <-ctx.Done():
			return "", errors.Join(failures...)
		case <-time.After(500 * time.Millisecond):
		}
	}
}
