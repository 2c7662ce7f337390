# SPDX-License-Identifier: Apache-2.0
#Requires -Version 5.1
#Requires -RunAsAdministrator

<#
.SYNOPSIS
Installs or upgrades csi-proxy.exe as a Windows service, by default csiproxy.

.DESCRIPTION
Copies the binary into a directory that only administrators can change, checks its hash there, has it register itself
as a service (csi-proxy service install), starts it, and returns when the service reports Running, which it does once
every named pipe is open. The csi-proxyctl.exe that lies beside the binary goes into the same directory.

Run it again to upgrade or to change flags. If the same binary and flags are installed already and the service
runs, nothing is touched. If the new version does not come up, the old binary and the old command line are put back and
started, and the script fails.

Nothing is downloaded unless -Url is given, and then only with -Sha256.

.PARAMETER Source
The csi-proxy.exe to install. Default: the one beside this script.

.PARAMETER Url
An https address to download csi-proxy.exe from, in place of -Source. Needs -Sha256.

.PARAMETER Sha256
The SHA-256 that the binary must have, 64 hexadecimal digits.

.PARAMETER InstallDir
Where the binary goes. Default: csi-proxy below the Program Files directory.

.PARAMETER ServiceName
The service, which may be another installer's: that of the node image is taken over with its name. Default: csiproxy.

.PARAMETER AgentFlags
Flags of csi-proxy.exe, one per element, e.g. '-v=4','-working-dir=D:\data'. Default: the lines of the environment
variable CSI_PROXY_FLAGS, for callers that cannot pass a list. If no flag says where the log goes, it goes to
C:\etc\kubernetes\logs\csi-proxy.log.

.EXAMPLE
.\install.ps1 -Sha256 (Get-Content .\csi-proxy.exe.sha256)

.EXAMPLE
.\install.ps1 -AgentFlags '-v=4', '-metrics-bind-address=127.0.0.1:29660' -WhatIf
#>
[CmdletBinding(SupportsShouldProcess = $true)]
param(
    [string] $Source,
    [uri] $Url,
    [ValidatePattern('^\s*[0-9A-Fa-f]{64}\s*$')]
    [string] $Sha256,
    [string] $InstallDir,
    [ValidatePattern('^[\w.-]+$')]
    [string] $ServiceName = 'csiproxy',
    [string[]] $AgentFlags
)

Set-StrictMode -Version Latest
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue' # a progress bar slows Invoke-WebRequest down many times

# SYSTEM and Administrators may do everything, Users may read and run the files. Nothing is inherited.
$DirectorySddl = 'O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)'

# Get-AgentService returns the service from WMI, with its state and command line, or null when there is none.
function Get-AgentService {
    Get-CimInstance -ClassName Win32_Service -Filter "Name='$ServiceName'"
}

# Invoke-Agent runs a csi-proxy.exe, shows what it says, and fails when it fails.
function Invoke-Agent([string] $Path, [string[]] $Arguments) {
    & $Path @Arguments | Out-Host
    if ($LASTEXITCODE -ne 0) {
        throw "$Path $($Arguments -join ' ') failed with exit code $LASTEXITCODE"
    }
}

# Get-Changer returns the SIDs besides administrators and this user that own a file or directory or may change it, and
# so what a process of SYSTEM finds there.
function Get-Changer([string] $Path) {
    $trusted = @(
        'S-1-5-18'     # SYSTEM
        'S-1-5-32-544' # Administrators
        'S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464' # TrustedInstaller
        'S-1-3-4'      # whoever owns it
        [Security.Principal.WindowsIdentity]::GetCurrent().User.Value
    )
    $rights = [int] [Security.AccessControl.FileSystemRights]'Write, Delete, DeleteSubdirectoriesAndFiles, ChangePermissions, TakeOwnership'
    $rights = $rights -bor 0x10000000 -bor 0x40000000 # GENERIC_ALL, GENERIC_WRITE
    $acl = Get-Acl -LiteralPath $Path
    $found = @($acl.GetOwner([Security.Principal.SecurityIdentifier]).Value)
    foreach ($rule in $acl.GetAccessRules($true, $true, [Security.Principal.SecurityIdentifier])) {
        $inheritOnly = $rule.PropagationFlags -band [Security.AccessControl.PropagationFlags]::InheritOnly
        if (-not $inheritOnly -and $rule.AccessControlType -eq 'Allow' -and ([int] $rule.FileSystemRights -band $rights)) {
            $found += $rule.IdentityReference.Value
        }
    }
    $found | Where-Object { $trusted -notcontains $_ } | Select-Object -Unique
}

# New-ProtectedDirectory makes the directory that only administrators can change. One that others made or may change is
# refused, because they may have left something in it.
function New-ProtectedDirectory([string] $Path) {
    if (Test-Path -LiteralPath $Path) {
        $item = Get-Item -LiteralPath $Path -Force
        if (-not $item.PSIsContainer) {
            throw "$Path is a file; a directory is needed there"
        }
        if ($item.Attributes -band [IO.FileAttributes]::ReparsePoint) {
            throw "$Path is a link; remove it, or name another directory"
        }
        $changers = @(Get-Changer -Path $Path)
        if ($changers) {
            throw "$Path belongs to or can be changed by $($changers -join ', '), neither SYSTEM nor Administrators: look at what is in it, then remove it, or name another directory"
        }
    }
    else {
        New-Item -ItemType Directory -Path $Path -Force | Out-Null
    }
    $acl = New-Object -TypeName System.Security.AccessControl.DirectorySecurity
    $acl.SetSecurityDescriptorSddlForm($DirectorySddl)
    Set-Acl -LiteralPath $Path -AclObject $acl
}

# Show-WritableParent warns of a directory above the path that everyone may rename or remove: with that right the protected
# directory can be moved away and another one put in its place.
function Show-WritableParent([string] $Path) {
    $rights = [Security.AccessControl.FileSystemRights]'Delete, DeleteSubdirectoriesAndFiles, ChangePermissions, TakeOwnership'
    $everyone = 'S-1-1-0', 'S-1-5-11', 'S-1-5-32-545' # Everyone, Authenticated Users, Users
    $parent = Split-Path -Path $Path -Parent
    while ($parent) {
        $rules = (Get-Acl -LiteralPath $parent).GetAccessRules($true, $true, [Security.Principal.SecurityIdentifier])
        foreach ($rule in $rules) {
            $inheritOnly = $rule.PropagationFlags -band [Security.AccessControl.PropagationFlags]::InheritOnly
            if (-not $inheritOnly -and $rule.AccessControlType -eq 'Allow' -and
                $everyone -contains $rule.IdentityReference.Value -and ($rule.FileSystemRights -band $rights)) {
                Write-Warning "$parent can be renamed or removed by $($rule.IdentityReference.Value); the service runs as SYSTEM, so take that right away, or install elsewhere"
                break
            }
        }
        $parent = Split-Path -Path $parent -Parent
    }
}

# ---- read the parameters

if (-not $InstallDir) {
    $InstallDir = Join-Path -Path $env:ProgramFiles -ChildPath 'csi-proxy'
}
if (-not $PSBoundParameters.ContainsKey('AgentFlags')) {
    $AgentFlags = @("$env:CSI_PROXY_FLAGS" -split "`r?`n")
}
$flags = @($AgentFlags | ForEach-Object { "$_".Trim() } | Where-Object { $_ })
foreach ($flag in $flags) {
    if ($flag -match '"' -or $flag -match '\s.*\\$') {
        throw "flag ${flag}: Windows PowerShell cannot pass on a quotation mark, or a blank together with a backslash at the end"
    }
}
if ($Url) {
    if ($Source) {
        throw 'give -Source or -Url, not both'
    }
    if ($Url.Scheme -ne 'https') {
        throw "-Url must be an https address, not $Url"
    }
    if (-not $Sha256) {
        throw '-Url needs -Sha256: the download will run as SYSTEM'
    }
    $origin = "$Url"
}
else {
    if (-not $Source) {
        $Source = Join-Path -Path $PSScriptRoot -ChildPath 'csi-proxy.exe'
    }
    if (-not (Test-Path -LiteralPath $Source -PathType Leaf)) {
        throw "there is no $Source; name the binary with -Source"
    }
    $origin = (Resolve-Path -LiteralPath $Source).ProviderPath
}

$target = Join-Path -Path $InstallDir -ChildPath 'csi-proxy.exe'
$new = Join-Path -Path $InstallDir -ChildPath 'csi-proxy-new.exe'
$previous = Join-Path -Path $InstallDir -ChildPath 'csi-proxy-previous.exe'

$plan = "install $origin as $target, have service $ServiceName run it with the flags '$($flags -join "' '")', and start it"
if (-not $PSCmdlet.ShouldProcess($plan, "$plan?", 'csi-proxy')) {
    return
}
$ConfirmPreference = 'None' # the one question was asked

# ---- copy the binary into the protected directory, and check it only there

New-ProtectedDirectory -Path $InstallDir
Show-WritableParent -Path $InstallDir
# A file that is there may have another owner or a second name, or be open to be written.
if (Test-Path -LiteralPath $new) {
    Remove-Item -LiteralPath $new -Force
}
if ($Url) {
    [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12
    Invoke-WebRequest -Uri $Url -OutFile $new -UseBasicParsing
}
else {
    # The bytes alone are copied: access and the mark of a downloaded file stay behind.
    [IO.File]::WriteAllBytes($new, [IO.File]::ReadAllBytes($origin))
}
$hash = (Get-FileHash -LiteralPath $new -Algorithm SHA256).Hash
if ($Sha256 -and $hash -ne $Sha256.Trim()) {
    Remove-Item -LiteralPath $new -Force
    throw "$origin has SHA-256 $hash, not $($Sha256.Trim()); nothing was changed"
}
Write-Host "csi-proxy.exe from $origin, SHA-256 $hash"
try {
    Invoke-Agent -Path $new -Arguments ($flags + 'version') # reads the flags as well
}
catch {
    Remove-Item -LiteralPath $new -Force
    throw "$_; nothing was changed"
}

# ---- install; csi-proxy service stop and start wait until the service has stopped or runs

$before = Get-AgentService
$hadBinary = Test-Path -LiteralPath $target
$sameBinary = $hadBinary -and (Get-FileHash -LiteralPath $target -Algorithm SHA256).Hash -eq $hash -and
    -not (Get-Changer -Path $target)
try {
    if (-not $sameBinary) {
        if ($before) {
            # The new program stops the old one: the old one may be too old to know how.
            Invoke-Agent -Path $new -Arguments @('service', 'stop', '-name', $ServiceName)
        }
        if ($hadBinary) {
            Move-Item -LiteralPath $target -Destination $previous -Force
        }
        Move-Item -LiteralPath $new -Destination $target -Force
    }
    Invoke-Agent -Path $target -Arguments (@('service', 'install', '-name', $ServiceName, '-start', '--') + $flags)
}
catch {
    $failure = $_
    $now = Get-AgentService
    if ($sameBinary -and $before -and $now -and $now.PathName -eq $before.PathName -and $now.State -eq $before.State) {
        throw "csi-proxy was not installed; the service was not touched: $failure"
    }
    Write-Warning "csi-proxy did not come up, going back: $failure"
    try {
        if ($now) {
            # Windows may be restarting the new one.
            if (Test-Path -LiteralPath $new) { $program = $new } else { $program = $target }
            Invoke-Agent -Path $program -Arguments @('service', 'stop', '-name', $ServiceName)
        }
        if (-not $sameBinary) {
            if (-not (Test-Path -LiteralPath $new)) {
                Move-Item -LiteralPath $target -Destination $new -Force # the steps below run it
            }
            if ($hadBinary -and -not (Test-Path -LiteralPath $target)) {
                Move-Item -LiteralPath $previous -Destination $target -Force
            }
        }
        if (-not $before) {
            Invoke-Agent -Path $new -Arguments @('service', 'uninstall', '-name', $ServiceName)
        }
        else {
            $change = Invoke-CimMethod -InputObject (Get-AgentService) -MethodName Change -Arguments @{ PathName = $before.PathName }
            if ($change.ReturnValue -ne 0) {
                throw "the command line could not be set back to $($before.PathName): error $($change.ReturnValue)"
            }
            if ($before.State -eq 'Running') {
                Invoke-Agent -Path $new -Arguments @('service', 'start', '-name', $ServiceName)
            }
        }
    }
    catch {
        throw "csi-proxy was not installed: $failure. Going back failed too: $_. The old binary is $previous, if it is not $target."
    }
    throw "csi-proxy was not installed; the service is as it was before: $failure"
}
finally {
    Remove-Item -LiteralPath $new -Force -ErrorAction SilentlyContinue
}

# The service runs, so a csi-proxyctl.exe that cannot be replaced, as one that runs, is no failure of the installation.
$tool = Join-Path -Path $InstallDir -ChildPath 'csi-proxyctl.exe'
try {
    if ($Url) {
        throw "-Url has csi-proxy.exe alone"
    }
    $bytes = [IO.File]::ReadAllBytes((Join-Path -Path (Split-Path -Path $origin -Parent) -ChildPath 'csi-proxyctl.exe'))
    if (Test-Path -LiteralPath $tool) {
        Remove-Item -LiteralPath $tool -Force
    }
    [IO.File]::WriteAllBytes($tool, $bytes)
}
catch {
    Write-Warning "csi-proxyctl.exe, which diagnoses the node, was not copied: $_. Copy it to $tool"
}

Write-Host "Service $ServiceName is running: $((Get-AgentService).PathName)"
