# SPDX-License-Identifier: Apache-2.0
#Requires -Version 5.1
#Requires -RunAsAdministrator

<#
.SYNOPSIS
Runs CSI Proxy's tests on this Windows machine, and puts what they say into one file, to be sent.

.DESCRIPTION
It needs neither Go nor a network. The tests make virtual disks, accounts, shares, services, directories below
C:\var\lib\kubelet and, where the iSCSI target server is installed, a target. They change no disk that they did not
attach. All that they make has a name that begins with csiproxy- and goes with its test. -WhatIf shows the plan and
does nothing; -Confirm:$false does not ask.

.PARAMETER Only
Names of plan.txt: nothing else runs.

.PARAMETER Settings
Lets tests change settings of the machine and put them back: automount, a value of the iSCSI target server, and the
iSCSI initiator's secret for mutual CHAP. One that was set before is lost, since Windows does not tell it.

.PARAMETER Clean
Only removes what a killed run has left, and puts settings back.

.EXAMPLE
.\run.ps1 -Only windows -Settings -Confirm:$false
#>
[CmdletBinding(SupportsShouldProcess = $true, ConfirmImpact = 'High')]
param(
    [string[]] $Only,
    [switch] $Settings,
    [switch] $Clean
)

Set-StrictMode -Version Latest
$ErrorActionPreference = 'Stop'
$agent = Join-Path $PSScriptRoot 'csi-proxy.exe'
$out = Join-Path $PSScriptRoot 'results'

# Remove-Left removes what has one of the tests' random names, the last made first, and has the tests restore settings.
function Remove-Left {
    $random = '(^|[\\:])csiproxy-[0-9a-f]{10}(\.vhdx)?$'
    $service = Get-CimInstance -ClassName Win32_Service -Filter "Name='csiproxy'"
    if ($service -and $service.PathName.Contains($agent)) { & $agent service uninstall }
    Get-IscsiSession -ErrorAction Ignore | Where-Object TargetNodeAddress -Match 'csiproxy-[0-9a-f]{10}' |
        ForEach-Object { Disconnect-IscsiTarget -NodeAddress $_.TargetNodeAddress -Confirm:$false }
    if (Get-Command -Name Get-IscsiServerTarget -ErrorAction Ignore) {
        foreach ($target in Get-IscsiServerTarget | Where-Object TargetName -Match $random) {
            $target.LunMappings | ForEach-Object {
                Remove-IscsiVirtualDiskTargetMapping -TargetName $target.TargetName -Path $_.Path
            }
            Remove-IscsiServerTarget -TargetName $target.TargetName
        }
        Get-IscsiVirtualDisk | Where-Object Path -Match $random | Remove-IscsiVirtualDisk
    }
    Get-SmbGlobalMapping | Where-Object RemotePath -Match $random | Remove-SmbGlobalMapping -Force
    Get-SmbShare | Where-Object Name -Match $random | Remove-SmbShare -Force
    Get-LocalUser | Where-Object Name -Match $random | Remove-LocalUser
    foreach ($service in Get-Service -ErrorAction Ignore | Where-Object Name -Match $random) {
        Stop-Service -InputObject $service -Force
        sc.exe delete $service.Name
    }
    # The disk of a killed program is detached; its file stays. rmdir follows no link and unmounts mount points.
    Get-ChildItem -Path $env:TEMP -Recurse -Filter 'csiproxy-*.vhdx' -ErrorAction Ignore |
        Where-Object Name -Match $random | Remove-Item
    # Directories without the prefix stay: they may be a driver's.
    $path = 'C:\var\lib\kubelet\plugins\csiproxy-questions'
    if (Test-Path -LiteralPath $path) { cmd.exe /d /c rmdir /s /q $path }
    $env:CSI_PROXY_TEST_CLEAN = '1'
    & (Join-Path $PSScriptRoot 'test-windows.test.exe') '-test.v' '-test.run=^TestRestoreSettings$'
    if ($LASTEXITCODE -ne 0) { throw 'settings could not be restored' }
}

# Write-Summary writes how the tests of a run ended, and the answers to questions about Windows.
function Write-Summary($Row, [string] $File) {
    $events = @(Get-Content -LiteralPath $File -Encoding UTF8 | ForEach-Object {
            try { $_ | ConvertFrom-Json } catch { } # a line that is cut off
        } | Where-Object { $_.PSObject.Properties['Test'] })
    $ended = @($events | Where-Object Action -In 'pass', 'fail', 'skip')
    $counts = $ended | Group-Object -Property Action -NoElement | ForEach-Object { "$($_.Count) $($_.Name)" }
    "$($Row.Name), $($Row.Package): $($counts -join ', ')"
    $ended | Where-Object Action -EQ 'fail' | ForEach-Object { "  failed: $($_.Test)" }
    $events | Where-Object Action -EQ 'output' | ForEach-Object { $_.Output.Trim() } |
        Where-Object { $_ -match '^\w+\.go:\d+: R\d+[ :]' } | ForEach-Object { '  ' + ($_ -replace '^\S+ ') }
}

if ($Clean) {
    if ($PSCmdlet.ShouldProcess($env:COMPUTERNAME, 'remove what a killed run has left')) { Remove-Left }
    return
}
$plan = @(Get-Content -LiteralPath (Join-Path $PSScriptRoot 'plan.txt') | Where-Object { $_ -notmatch '^(#|$)' } |
        ForEach-Object {
            $words = -split $_
            [pscustomobject]@{ Name = $words[0]; Package = $words[1]; Tests = $words[2]
                Variables = @($words | Select-Object -Skip 3) }
        } | Where-Object { -not $Only -or $Only -contains $_.Name })
$busy = @(Get-Service -Name 'csiproxy', 'csi-proxy', 'kubelet', 'rke2' -ErrorAction Ignore |
        Where-Object Status -EQ 'Running')
if ($busy -and -not $WhatIfPreference) {
    throw "$($busy.Name -join ', ') runs here: the tests serve the agent's pipes. Drain the node and stop it first."
}
$ran = $failed = 0
$env:CSI_PROXY_BIN = $PSScriptRoot
$env:CSI_PROXY_TEST_SETTINGS = if ($Settings) { '1' } else { '' }
$system = Get-CimInstance -ClassName Win32_OperatingSystem
$summary = @("$($system.Caption) $($system.Version), $env:PROCESSOR_ARCHITECTURE", (& $agent -version))
foreach ($row in $plan) {
    $what = "run $($row.Tests) of $($row.Package) $($row.Variables -join ' ')"
    if (-not $PSCmdlet.ShouldProcess($row.Name, $what)) { continue }
    $ran++
    New-Item -ItemType Directory -Path $out -Force | Out-Null
    $file = Join-Path $out "$($row.Name).json"
    $program = '.\' + ($row.Package -replace '/', '-') + '.test.exe'
    $asService = $row.Variables -contains 'CSI_PROXY_TEST_NODE=agent'
    foreach ($variable in $row.Variables) {
        $name, $value = $variable -split '=', 2
        Set-Item -Path "env:$name" -Value $value
    }
    try {
        if ($asService) { & $agent service install -start '--' '-v=4' | Out-Host }
        # Start-Process writes the bytes as they are; a pipe of Windows PowerShell does not.
        $process = Start-Process -FilePath (Join-Path $PSScriptRoot 'test2json.exe') -WorkingDirectory $PSScriptRoot `
            -RedirectStandardOutput $file -RedirectStandardError "$file.stderr" -NoNewWindow -Wait -PassThru `
            -ArgumentList '-t', '-p', $row.Package, $program, '-test.v=test2json', "-test.run=$($row.Tests)",
        '-test.count=1', '-test.timeout=90m'
        if ($process.ExitCode -ne 0) { $failed++ }
    } finally {
        if ($asService) { & $agent service uninstall | Out-Host }
        foreach ($variable in $row.Variables) { Remove-Item -Path "env:$(($variable -split '=')[0])" }
    }
    $summary += Write-Summary $row $file
}
if ($ran -eq 0) { return }
if (-not $Only) { # how long a call takes, beside a bare gRPC echo
    $env:CSI_PROXY_BENCH = $agent
    & (Join-Path $PSScriptRoot 'test-bench.test.exe') '-test.run=^$' '-test.bench=Program' '-test.count=5' |
        Set-Content -LiteralPath (Join-Path $out 'timing.txt') -Encoding UTF8
}
$summary | Tee-Object -FilePath (Join-Path $out 'summary.txt')
$zip = "$out-$(Get-Date -Format yyyyMMdd-HHmmss).zip"
Compress-Archive -Path (Join-Path $out '*') -DestinationPath $zip
"$failed of the programs failed, which is a finding as well. Please attach $zip to a new issue of the repository that"
"these tests come from. The names of this machine, its users and disks are in it: look into summary.txt before."
exit [Math]::Min($failed, 1)
