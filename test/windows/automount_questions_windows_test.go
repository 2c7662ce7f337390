// SPDX-License-Identifier: Apache-2.0

package windows

func automountQuestions() []Question {
	return []Question{
		{30, "With automount off, does the volume of a new partition come online, and do IOCTL_VOLUME_IS_OFFLINE and " +
			"IOCTL_VOLUME_ONLINE tell and change it?", askAutomount},
	}
}

func askAutomount(q *inquiry) {
	answers := note(q, map[string]map[string]string{})
	for _, setting := range []string{"off", "on"} {
		q.check(setAutomount(q, setting))
		answers[setting] = q.arrival()
	}
}
