// SPDX-License-Identifier: Apache-2.0

package utils

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	hostapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
)

// disks are the calls that stand in for PowerShell.
type disks interface {
	SetDiskState(diskNumber uint32, isOnline bool) error
	SetDiskReadOnly(diskNumber uint32, isReadOnly bool) error
}

// cmdlet is the name of a command, as Windows forms them.
var cmdlet = regexp.MustCompile(`^[A-Za-z]+-[A-Za-z]+$`)

// setDisk is the command that drivers are known to run.
var setDisk = regexp.MustCompile(`(?i)^Set-Disk\s+-Number\s+(\d+)\s+-(IsReadOnly|IsOffline)\s+\$(true|false)$`)

// RunPowershellCmd does what one known command does, by the calls of the other packages, and starts no shell for it:
// statements of the form "Set-Disk -Number 1 -IsReadOnly $false" and "Set-Disk -Number 1 -IsOffline $true", separated
// by semicolons, as the driver of vSphere v3.7.3 runs them. Every other command fails with errors.ErrUnsupported in the
// error, before any of its statements is carried out. The output is empty.
func RunPowershellCmd(command string, _ ...string) ([]byte, error) {
	return nil, run(hostapi.New(), command)
}

func run(api disks, command string) error {
	var steps []func() error
	for statement := range strings.SplitSeq(command, ";") {
		if statement = strings.TrimSpace(statement); statement == "" {
			continue
		}
		parts := setDisk.FindStringSubmatch(statement)
		if parts == nil {
			name := strings.Fields(statement)[0]
			if !cmdlet.MatchString(name) { // it may hold a password, as the rest may
				name = "such a statement"
			}
			return fmt.Errorf("%w: utils.RunPowershellCmd runs no PowerShell, and does not know how to do %s without; the "+
				"packages disk, volume, filesystem, smb and iscsi have the calls", errors.ErrUnsupported, name)
		}
		number, err := strconv.ParseUint(parts[1], 10, 32)
		if err != nil {
			return err
		}
		set := strings.EqualFold(parts[3], "true")
		if strings.EqualFold(parts[2], "IsOffline") {
			steps = append(steps, func() error { return api.SetDiskState(uint32(number), !set) })
		} else {
			steps = append(steps, func() error { return api.SetDiskReadOnly(uint32(number), set) })
		}
	}
	if len(steps) == 0 {
		return errors.New("utils.RunPowershellCmd: an empty command")
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
