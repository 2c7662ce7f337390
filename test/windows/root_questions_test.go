// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"strings"
	"testing"
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

func askFirstListing(t testing.TB, s Subject) (any, error) {
	volume, at, err := freshVolume(t, s)
	if err != nil {
		return nil, err
	}
	answers := map[string]string{"at once": listing(s, volume)}
	time.Sleep(time.Second) // Windows may put something there meanwhile
	answers["after 1s"] = listing(s, volume)
	if err := s.Kernel.SetVolumeMountPoint(at, volume); err != nil {
		return answers, err
	}
	t.Cleanup(func() { _ = s.Kernel.DeleteVolumeMountPoint(at) })
	answers["mounted"] = listing(s, `\\?\`+at)
	return answers, nil
}

// listing opens a directory and returns the names in it, or how that failed.
func listing(s Subject, directory string) string {
	h, err := openDirectory(s, nil, directory)
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

func askLockBesideReader(t testing.TB, s Subject) (any, error) {
	volume, _, err := freshVolume(t, s)
	if err != nil {
		return nil, err
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for again := time.NewTicker(5 * time.Millisecond); ; {
			_ = listing(s, volume)
			select {
			case <-again.C:
			case <-stop:
				again.Stop()
				return
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	h, err := s.Kernel.OpenDevice(strings.TrimSuffix(volume, `\`), readWrite)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	answers := map[string]string{}
	answers["FSCTL_LOCK_VOLUME"] = strings.Join(s.attempt(func() string {
		return verdict(send(h, win32.FSCTL_LOCK_VOLUME, nil))
	}), ", ")
	answers["the reader"] = listing(s, volume)
	answers["FSCTL_UNLOCK_VOLUME"] = verdict(send(h, win32.FSCTL_UNLOCK_VOLUME, nil))
	return answers, nil
}
