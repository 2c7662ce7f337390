# SPDX-License-Identifier: Apache-2.0
#Requires -Version 5.1
#Requires -RunAsAdministrator

<#
.SYNOPSIS
Stops and removes the Windows service, by default csiproxy, and removes both programs.

.DESCRIPTION
Volumes stay mounted and links stay where they are: only the agent goes. Its logs stay as well. Run it as often as you
like.

.PARAMETER InstallDir
Where install.ps1 put the binary. Default: csi-proxy below the Program Files directory.

.PARAMETER ServiceName
The service. Default: csiproxy.

.EXAMPLE
.\uninstall.ps1 -WhatIf
#>
[CmdletBinding(SupportsShouldProcess = $true)]
param(
    [string] $InstallDir,
    [ValidatePattern('^[\w.-]+$')]
    [string] $ServiceName = 'csiproxy'
)

Set-StrictMode -Version Latest
$ErrorActionPreference = 'Stop'

$StopSeconds = 150 # an agent that stops lets running operations end, a format for example
if (-not $InstallDir) {
    $InstallDir = Join-Path -Path $env:ProgramFiles -ChildPath 'csi-proxy'
}
$target = Join-Path -Path $InstallDir -ChildPath 'csi-proxy.exe'

$plan = "stop and remove service $ServiceName, and remove $target"
if (-not $PSCmdlet.ShouldProcess($plan, "$plan?", 'csi-proxy')) {
    return
}
$ConfirmPreference = 'None' # the one question was asked

if (Test-Path -LiteralPath $target) {
    & $target service uninstall -name $ServiceName | Out-Host # also removes its event log source
    if ($LASTEXITCODE -ne 0) {
        throw "$target service uninstall failed with exit code $LASTEXITCODE"
    }
}
else {
    # An installation made in another way, or the rest of one.
    $controller = Get-Service -Name $ServiceName -ErrorAction SilentlyContinue
    if ($controller) {
        if ("$($controller.Status)" -ne 'Stopped') {
            $controller.Stop()
            $controller.WaitForStatus('Stopped', [TimeSpan]::FromSeconds($StopSeconds))
        }
        $controller.Close() # or the service would be marked for removal only
        & "$env:SystemRoot\System32\sc.exe" delete $ServiceName | Out-Host
        if ($LASTEXITCODE -ne 0) {
            throw "sc.exe delete $ServiceName failed with exit code $LASTEXITCODE"
        }
    }
}

foreach ($name in 'csi-proxyctl.exe', 'csi-proxy.exe', 'csi-proxy-previous.exe', 'csi-proxy-new.exe') {
    $file = Join-Path -Path $InstallDir -ChildPath $name
    if (Test-Path -LiteralPath $file) {
        Remove-Item -LiteralPath $file -Force
    }
}
# The directory stays if it holds anything that is not ours.
if ((Test-Path -LiteralPath $InstallDir) -and -not (Get-ChildItem -LiteralPath $InstallDir -Force)) {
    Remove-Item -LiteralPath $InstallDir -Force
}
Write-Host "Service $ServiceName is not installed."
