// SPDX-License-Identifier: Apache-2.0

package windows

import "testing"

func automountQuestions() []Question {
	return []Question{
		{30, "With automount off, does the volume of a new partition come online, and do IOCTL_VOLUME_IS_OFFLINE and " +
			"IOCTL_VOLUME_ONLINE tell and change it?", askAutomount},
	}
}

func askAutomount(t testing.TB, s Subject) (any, error) {
	answers := map[string]map[string]string{}
	for _, setting := range []string{"off", "on"} {
		if err := setAutomount(t, setting); err != nil {
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
