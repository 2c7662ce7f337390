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
iSCSI initiator's secret for mutual CHAP. One that was set before is lost, since Windows does not tell it. On Windows
Server it also installs the iSCSI target server (FS-iSCSITarget-Server) where there is none. That one stays.

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
    if ($service -and $service.PathName.Contains($agent)) {
        & $agent service uninstall
        if ($LASTEXITCODE -ne 0) { Write-Warning "the service could not be removed: exit code $LASTEXITCODE" }
    }
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
        if ($LASTEXITCODE -ne 0) { Write-Warning "$($service.Name) could not be removed: exit code $LASTEXITCODE" }
    }
    # The disk of a killed program is detached; its file stays. rmdir follows no link and unmounts mount points.
    Get-ChildItem -Path $env:TEMP -Recurse -Filter 'csiproxy-*.vhdx' -ErrorAction Ignore |
        Where-Object Name -Match $random | Remove-Item
    # Directories without the prefix stay: they may be a driver's.
    $path = 'C:\var\lib\kubelet\plugins\csiproxy-questions'
    if (Test-Path -LiteralPath $path) {
        cmd.exe /d /c rmdir /s /q $path
        if (Test-Path -LiteralPath $path) { Write-Warning "$path could not be removed" } # rmdir tells it no other way
    }
    $env:CSI_PROXY_TEST_CLEAN = '1'
    & (Join-Path $PSScriptRoot 'test-windows.test.exe') '-test.v' '-test.run=^TestRestoreSettings$'
    if ($LASTEXITCODE -ne 0) { throw 'settings could not be restored' }
}

# Protect-Programs leaves this directory to administrators: below a drive's root users may add files, and the agent's
# service refuses to run as SYSTEM from there. The accounts are named by SIDs, since names are translated.
function Protect-Programs {
    icacls.exe $PSScriptRoot /setowner '*S-1-5-32-544' /q | Out-Null
    if ($LASTEXITCODE -ne 0) { throw "icacls cannot give $PSScriptRoot to Administrators: exit code $LASTEXITCODE" }
    icacls.exe $PSScriptRoot /inheritance:r /grant:r '*S-1-5-18:(OI)(CI)F' '*S-1-5-32-544:(OI)(CI)F' /q | Out-Null
    if ($LASTEXITCODE -ne 0) { throw "icacls cannot protect ${PSScriptRoot}: exit code $LASTEXITCODE" }
    icacls.exe (Join-Path $PSScriptRoot '*') /reset /t /q | Out-Null
    if ($LASTEXITCODE -ne 0) { throw "icacls cannot reset what is in ${PSScriptRoot}: exit code $LASTEXITCODE" }
}

# Install-TargetServer installs the role with which this machine is its own iSCSI storage. Without it the iSCSI tests say
# so and leave out what needs it.
function Install-TargetServer {
    $role = 'FS-iSCSITarget-Server'
    try {
        if ((Get-WindowsFeature -Name $role).Installed) { return }
        $answer = Install-WindowsFeature -Name $role
        "$role was installed ($($answer.ExitCode)) and stays: Uninstall-WindowsFeature $role removes it"
    } catch { Write-Warning "$role is not installed, so iSCSI is not tested: $_" } # no such command but on Windows Server
}

# Write-Machine adds to machine.txt what this machine is like, so that a failure can be read without it.
function Write-Machine([string] $When) {
    $questions = [ordered] @{
        'Get-Disk'             = { Get-Disk | Format-List * }
        'Get-Partition'        = { Get-Partition | Format-List * }
        'Get-Volume'           = { Get-Volume | Format-List * }
        'mountvol'             = { mountvol.exe }
        'ntfsinfo'             = { fsutil.exe fsinfo ntfsinfo $env:SystemDrive }
        'Get-SmbGlobalMapping' = { Get-SmbGlobalMapping | Format-List * }
        'Get-StorageSetting'   = { Get-StorageSetting | Format-List * }
        'icacls'               = { icacls.exe $PSScriptRoot }
        'temporary path'       = { [IO.Path]::GetTempPath() }
    }
    $lines = foreach ($name in $questions.Keys) {
        "==== $When, $name"
        try { & $questions[$name] 2>&1 | Out-String -Width 200 } catch { "failed: $_" }
    }
    Add-Content -LiteralPath (Join-Path $out 'machine.txt') -Value $lines -Encoding UTF8
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
$version = & $agent -version
if ($LASTEXITCODE -ne 0) { throw "$agent does not start: exit code $LASTEXITCODE" }
$summary = @("$($system.Caption) $($system.Version), $env:PROCESSOR_ARCHITECTURE", $version)
if (-not $WhatIfPreference) {
    New-Item -ItemType Directory -Path $out -Force | Out-Null
    Write-Machine 'before'
    Protect-Programs
    if ($Settings) { Install-TargetServer }
}
foreach ($row in $plan) {
    $what = "run $($row.Tests) of $($row.Package) $($row.Variables -join ' ')"
    if (-not $PSCmdlet.ShouldProcess($row.Name, $what)) { continue }
    $ran++
    $file = Join-Path $out "$($row.Name).json"
    $program = '.\' + ($row.Package -replace '/', '-') + '.test.exe'
    $asService = $row.Variables -contains 'CSI_PROXY_TEST_NODE=agent'
    foreach ($variable in $row.Variables) {
        $name, $value = $variable -split '=', 2
        Set-Item -Path "env:$name" -Value $value
    }
    try {
        if ($asService) {
            & $agent service install -start '--' '-v=4' | Out-Host
            if ($LASTEXITCODE -ne 0) { throw "the service could not be installed: exit code $LASTEXITCODE" }
        }
        # Start-Process writes the bytes as they are; a pipe of Windows PowerShell does not.
        $process = Start-Process -FilePath (Join-Path $PSScriptRoot 'test2json.exe') -WorkingDirectory $PSScriptRoot `
            -RedirectStandardOutput $file -RedirectStandardError "$file.stderr" -NoNewWindow -Wait -PassThru `
            -ArgumentList '-t', '-p', $row.Package, $program, '-test.v=test2json', "-test.run=$($row.Tests)",
        '-test.count=1', '-test.timeout=90m'
        if ($process.ExitCode -ne 0) { $failed++ }
    } finally {
        if ($asService) {
            & $agent service uninstall | Out-Host
            if ($LASTEXITCODE -ne 0) { Write-Warning "the service could not be removed: exit code $LASTEXITCODE" }
        }
        foreach ($variable in $row.Variables) { Remove-Item -Path "env:$(($variable -split '=')[0])" }
    }
    $summary += Write-Summary $row $file
}
if ($ran -eq 0) { return }
Write-Machine 'after'
if (-not $Only) { # how long a call takes, beside a bare gRPC echo
    $env:CSI_PROXY_BENCH = $agent
    & (Join-Path $PSScriptRoot 'test-bench.test.exe') '-test.run=^$' '-test.bench=Program' '-test.count=5' |
        Set-Content -LiteralPath (Join-Path $out 'timing.txt') -Encoding UTF8
    if ($LASTEXITCODE -ne 0) { $summary += "timing: exit code $LASTEXITCODE" }
}
$summary | Tee-Object -FilePath (Join-Path $out 'summary.txt')
$zip = "$out-$(Get-Date -Format yyyyMMdd-HHmmss).zip"
Compress-Archive -Path (Join-Path $out '*') -DestinationPath $zip
"$failed of the programs failed, which is a finding as well. Please attach $zip to a new issue of the repository that"
"these tests come from. The names of this machine, its users and disks are in it: look into summary.txt before."
exit [Math]::Min($failed, 1)
