// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
)

// NewTarget makes the machine its own storage system until the test ends. A NotHere says why the feature is not to be had.
func NewTarget(t testing.TB) (Target, error) {
	t.Helper()
	ctx := t.Context()
	if out, err := PowerShell(ctx, "(Install-WindowsFeature -Name FS-iSCSITarget-Server).Success"); err != nil || out != "True" {
		return Target{}, NotHere(fmt.Sprintf("the iSCSI target server cannot be installed here: %s %v", out, err))
	}
	made := Target{Address: "127.0.0.1", Port: 3260, User: "csi-user", Secret: random(7)} // 14 characters of the 12 to 16
	name := "csi" + random(4)
	env := []string{"CSI_NAME=" + name, "CSI_USER=" + made.User, "CSI_SECRET=" + made.Secret, "CSI_FILE=" + filepath.Join(t.TempDir(), "lun.vhdx")}
	// The target server refuses the machine that it runs on unless it is told not to.
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
	if err != nil {
		return Target{}, err
	}
	t.Cleanup(func() {
		const remove = `Remove-IscsiServerTarget -TargetName $env:CSI_NAME
Remove-IscsiVirtualDisk -Path $env:CSI_FILE`
		if _, err := PowerShell(context.Background(), remove, env...); err != nil { // the test's context has ended
			t.Logf("the target stays: %v", err)
		}
	})
	made.IQN = iqn
	return made, nil
}
