// SPDX-License-Identifier: Apache-2.0

package winservice

import (
	"errors"
	"fmt"

	"golang.org/x/sys/windows/registry"
	"golang.org/x/sys/windows/svc/eventlog"
)

// openEvents calls RegisterEventSourceW. An unregistered source works as well; its texts are shown with a remark in
// front. A log that cannot be opened takes no records.
func openEvents(source string) *eventlog.Log {
	log, err := eventlog.Open(source)
	if err != nil {
		return &eventlog.Log{}
	}
	return log
}

// RegisterEvents names EventCreate.exe, which every Windows has, as the source's message file.
func (m scm) RegisterEvents(source string) error {
	if err := m.RemoveEvents(source); err != nil { // the next call refuses one that exists
		return err
	}
	if err := eventlog.InstallAsEventCreate(source, eventlog.Info|eventlog.Warning|eventlog.Error); err != nil {
		return fmt.Errorf("event source %s: %w", source, err)
	}
	return nil
}

// RemoveEvents deletes the source's registry key.
func (scm) RemoveEvents(source string) error {
	err := eventlog.Remove(source)
	if err != nil && !errors.Is(err, registry.ErrNotExist) {
		return fmt.Errorf("event source %s: %w", source, err)
	}
	return nil
}
