// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func rootQuestions() []Question {
	return []Question{
		{51, "What does the first listing of a just-formatted volume's root show, at once, a second later and mounted?",
			askFirstListing},
		{55, "How long does FSCTL_LOCK_VOLUME take beside a reader that opens and lists the root again and again, and what " +
			"does the reader get then?", askLockBesideReader},
	}
}

func askFirstListing(q *inquiry) {
	answers, volume := note(q, map[string]string{}), q.newVolume()
	answers["at once"] = q.listing(volume)
	time.Sleep(time.Second) // Windows may put something there meanwhile
	answers["after 1s"] = q.listing(volume)
	answers["mounted"] = q.listing(`\\?\` + q.mount(volume))
}

// listing opens a directory and returns the names in it, or how that failed.
func (s Subject) listing(directory string) string {
	h, err := s.openDirectory(nil, directory)
	if err != nil {
		return "open: " + verdict(err)
	}
	defer h.Close()
	buffer := make([]byte, 4096)
	if err := h.Information(win32.FileFullDirectoryRestartInfo, buffer); err != nil {
		return verdict(err)
	}
	entries, err := win32.ParseDirectoryEntries(buffer)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return strings.Join(append(names, verdict(err)), ", ")
}

func askLockBesideReader(q *inquiry) {
	answers, volume := note(q, map[string]string{}), q.newVolume()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			_ = q.listing(volume)
			select {
			case <-time.After(10 * time.Millisecond): // closed meanwhile, however slow the machine is
			case <-stop:
				return
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	h := q.openVolume(volume)
	defer h.Close()
	answers["FSCTL_LOCK_VOLUME"] = strings.Join(q.attempt(func() string {
		return verdict(send(h, win32.FSCTL_LOCK_VOLUME, nil))
	}), ", ")
	answers["the reader"] = q.listing(volume)
	answers["FSCTL_UNLOCK_VOLUME"] = verdict(send(h, win32.FSCTL_UNLOCK_VOLUME, nil))
}
