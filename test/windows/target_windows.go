// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/winservice"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
)

// The iSCSI target server, which its cmdlets control.
// https://learn.microsoft.com/powershell/module/iscsitarget
const (
	targetService = "WinTarget"
	targetPort    = 3260
)

// NewTarget makes the machine its own storage system until the test ends. It skips the test where it cannot: it
// installs nothing, and it does not disturb a target server that serves others.
func NewTarget(t testing.TB) Target {
	t.Helper()
	prepareTargetServer(t)
	BorrowInitiator(t)
	name, file := machine.RandomName(), filepath.Join(t.TempDir(), machine.RandomName()+".vhdx")
	made := Target{Port: targetPort, User: "csi-user", Secret: rand.Text()[:14]} // of the 12 to 16 characters
	var err error
	if made.Address, err = answering(t.Context(), made.Port); err != nil {
		t.Skip(Unavailable(fmt.Sprintf("the iSCSI target server answers on no address of this machine: %v", err)))
	}
	atEnd(t, "removing the target's disk", func(context.Context) error {
		_, err := powershell("Get-IscsiVirtualDisk | Where-Object Path -eq $env:FILE | Remove-IscsiVirtualDisk",
			"FILE="+file)
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return err
	})
	_, err = powershell("New-IscsiVirtualDisk -Path $env:FILE -SizeBytes 1GB", "FILE="+file)
	check(t, err)
	atEnd(t, "removing the target", func(context.Context) error {
		_, err := powershell(`foreach ($target in Get-IscsiServerTarget | Where-Object TargetName -eq $env:TARGET) {
			$target.LunMappings | ForEach-Object {
				Remove-IscsiVirtualDiskTargetMapping -TargetName $env:TARGET -Path $_.Path
			}
			Remove-IscsiServerTarget -TargetName $env:TARGET
		}`, "TARGET="+name)
		return err
	})
	made.IQN, err = powershell(`$secret = ConvertTo-SecureString $env:SECRET -AsPlainText -Force
		$null = New-IscsiServerTarget -TargetName $env:TARGET -InitiatorIds 'IQN:*'
		$credential = New-Object PSCredential $env:CHAP_USER, $secret
		Set-IscsiServerTarget -TargetName $env:TARGET -EnableChap $true -Chap $credential
		Add-IscsiVirtualDiskTargetMapping -TargetName $env:TARGET -Path $env:FILE
		(Get-IscsiServerTarget -TargetName $env:TARGET).TargetIqn.ToString()`,
		"TARGET="+name, "FILE="+file, "CHAP_USER="+made.User, "SECRET="+made.Secret)
	check(t, err)
	if made.IQN == "" {
		t.Fatal("the target has no IQN")
	}
	atEnd(t, "ending the sessions", func(context.Context) error { return endSessions(made.IQN) })
	return made
}

// prepareTargetServer starts the target server and has it serve the machine that it runs on, which it refuses unless
// told otherwise.
func prepareTargetServer(t testing.TB) {
	t.Helper()
	allowed := registryNumber{`SOFTWARE\Microsoft\iSCSI Target`, "AllowLoopBack", 1}
	before, err := allowed.read()
	check(t, err)
	start(t, targetService, "iSCSI target server (on Windows Server the feature FS-iSCSITarget-Server)")
	names, err := powershell("(Get-IscsiServerTarget).TargetName")
	check(t, err)
	check(t, hasNoForeignTargets(strings.Fields(names)))
	if before == "1" {
		return
	}
	check(t, maySet(allowed.name))
	atEnd(t, "restarting "+targetService, restartTargetServer) // once the value is what it was
	check(t, allowed.set(t))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	check(t, restartTargetServer(ctx))
}

// restartTargetServer has the target server read its settings, which it does when it starts.
func restartTargetServer(ctx context.Context) error {
	return withServices(func(m winservice.Manager) error {
		if err := winservice.Stop(ctx, m, targetService); err != nil {
			return err
		}
		return winservice.Start(ctx, m, targetService)
	})
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
