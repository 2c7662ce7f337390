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
)

// NewTarget makes the machine its own storage system until the test ends. A NotHere tells why it cannot.
func NewTarget(t testing.TB) (Target, error) {
	t.Helper()
	ctx := t.Context()
	if out, err := PowerShell(ctx, "(Install-WindowsFeature -Name FS-iSCSITarget-Server).Success"); err != nil || out != "True" {
		return Target{}, NotHere(fmt.Sprintf("the iSCSI target server cannot be installed here: %s %v", out, err))
	}
	made := Target{Port: 3260, User: "csi-user", Secret: random(7)} // 14 characters of the 12 to 16
	name := "csi" + random(4)
	env := []string{"CSI_NAME=" + name, "CSI_USER=" + made.User, "CSI_SECRET=" + made.Secret, "CSI_FILE=" + filepath.Join(t.TempDir(), "lun.vhdx")}
	// The target server refuses the machine that it runs on unless told otherwise.
	const create = `New-ItemProperty -Path 'HKLM:\SOFTWARE\Microsoft\iSCSI Target' -Name AllowLoopBack -Value 1 -PropertyType DWord -Force | Out-Null
Restart-Service -Name WinTarget -Force
New-IscsiVirtualDisk -Path $env:CSI_FILE -SizeBytes 1GB | Out-Null
New-IscsiServerTarget -TargetName $env:CSI_NAME -InitiatorIds 'IQN:*' | Out-Null
$secret = ConvertTo-SecureString -String $env:CSI_SECRET -AsPlainText -Force
$chap = New-Object System.Management.Automation.PSCredential($env:CSI_USER, $secret)
Set-IscsiServerTarget -TargetName $env:CSI_NAME -EnableChap $true -Chap $chap
Add-IscsiVirtualDiskTargetMapping -TargetName $env:CSI_NAME -Path $env:CSI_FILE
[string](Get-IscsiServerTarget -TargetName $env:CSI_NAME).TargetIqn`
	iqn, err := PowerShell(ctx, create, env...)
	t.Cleanup(func() { // whatever part of it was made
		const remove = `try { Remove-IscsiServerTarget -TargetName $env:CSI_NAME } finally { Remove-IscsiVirtualDisk -Path $env:CSI_FILE }`
		if _, err := PowerShell(context.Background(), remove, env...); err != nil { // the test's context has ended
			t.Logf("the target stays: %v", err)
		}
	})
	if err != nil {
		return Target{}, NotHere(fmt.Sprintf("the iSCSI target cannot be set up here: %v", err))
	}
	made.IQN = iqn
	if made.Address, err = answering(ctx, made.Port); err != nil {
		return Target{}, NotHere(fmt.Sprintf("the iSCSI target server answers on no address of this machine: %v", err))
	}
	return made, nil
}

// answering returns the first IPv4 address of the machine on which a port takes connections. The target server does not listen
// on the loopback address.
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
