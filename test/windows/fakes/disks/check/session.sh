#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The part of check.sh inside the Wine tree.
set -euo pipefail
c=~/.wine/drive_c
cp /binaries/fake-disks.dll "$c/windows/system32/bcryptprimitives.dll"
cp /binaries/fake-disks.dll "$c/windows/system32/cfgmgr32.dll"
export WINEDLLOVERRIDES='bcryptprimitives,cfgmgr32=n'
mkdir "$c/disks-fake"
cp /binaries/fake-links.dll "$c/disks-fake/links.dll"
cat >"$c/disks-fake/control.txt" <<CONTROL
images Z:\work
disk 0 64G system
disk 1 10G offline bus nvme lun 3 serial vol0123 id naa:5000c50012345678 id t10:ACME____x0001
disk 2 1G late sector 4096
CONTROL
code=0
wine 'Z:\binaries\check.exe' || code=$?
cp "$c/disks-fake/calls.txt" "$c/disks-fake/violations.txt" .
exit "$code"
