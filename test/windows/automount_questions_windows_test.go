// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

func automountQuestions() []Question {
	return []Question{
		{30, "With automount off, does the volume of a new partition come online, and do IOCTL_VOLUME_IS_OFFLINE and IOCTL_VOLUME_ONLINE tell and change it?", askAutomount},
	}
}

// Control codes of volumes, of ntddvol.h.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddvol/
const (
	volumeOnline    = 0x0056C008 // IOCTL_VOLUME_ONLINE
	volumeIsOffline = 0x00560010 // IOCTL_VOLUME_IS_OFFLINE
)

func askAutomount(t testing.TB, s Subject) (any, error) {
	answers := map[string]map[string]string{}
	for _, setting := range []string{"off", "on"} {
		if err := SetAutomount(t, setting); err != nil {
			return answers, err
		}
		answer, err := arrival(t, s)
		answers[setting] = answer
		if err != nil {
			return answers, err
		}
	}
	return answers, nil
}

// arrival describes the volume of a new partition.
func arrival(t testing.TB, s Subject) (map[string]string, error) {
	t.Helper()
	d, err := s.Attach(t, gib, 0)
	if err != nil {
		return nil, err
	}
	p, err := partitioned(s, d)
	if err != nil {
		return nil, err
	}
	volume, err := volumeAt(s, d, p.StartingOffset)
	if errors.Is(err, errNoVolume) {
		return map[string]string{"volume": "none"}, nil
	}
	if err != nil {
		return nil, err
	}
	answer := map[string]string{}
	look := func(when string) {
		fileSystem, err := s.Kernel.VolumeInformation(volume)
		answer[when+", GetVolumeInformationW"] = fmt.Sprintf("%q %s", fileSystem, verdict(err))
		h, err := s.Kernel.OpenDevice(strings.TrimSuffix(volume, `\`), win32.GENERIC_READ|win32.GENERIC_WRITE)
		if err != nil {
			answer[when+", opened"] = verdict(err)
			return
		}
		defer h.Close()
		answer[when+", IOCTL_VOLUME_IS_OFFLINE"] = verdict(send(h, volumeIsOffline, nil))
	}
	look("arrived")
	h, err := s.Kernel.OpenDevice(strings.TrimSuffix(volume, `\`), win32.GENERIC_READ|win32.GENERIC_WRITE)
	if err != nil {
		return answer, err
	}
	answer["IOCTL_VOLUME_ONLINE"] = verdict(send(h, volumeOnline, nil))
	_ = h.Close()
	look("then")
	answer["format"] = verdict(s.Kernel.FormatVolume(volume, "NTFS"))
	return answer, nil
}
