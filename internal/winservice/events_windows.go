// SPDX-License-Identifier: Apache-2.0

package winservice

import (
	"errors"
	"fmt"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
	"golang.org/x/sys/windows/svc/eventlog"
)

// eventSources is where Windows looks up an event source's message file.
// https://learn.microsoft.com/windows/win32/eventlog/event-sources
const eventSources = `SYSTEM\CurrentControlSet\Services\EventLog\Application`

// eventLog writes to the Application log. The zero value stands for a log that cannot be opened and drops all records:
// a service runs without the log too.
type eventLog struct{ log *eventlog.Log }

// openEvents calls RegisterEventSourceW. An unregistered source works as well; its texts are shown with a remark in
// front.
func openEvents(source string) eventLog {
	log, err := eventlog.Open(source)
	if err != nil {
		return eventLog{}
	}
	return eventLog{log}
}

func (e eventLog) close() {
	if e.log != nil {
		_ = e.log.Close()
	}
}

// Info calls ReportEventW with EVENTLOG_INFORMATION_TYPE.
func (e eventLog) Info(id uint32, text string) {
	if e.log != nil {
		_ = e.log.Info(id, eventText(text))
	}
}

// Warning calls ReportEventW with EVENTLOG_WARNING_TYPE.
func (e eventLog) Warning(id uint32, text string) {
	if e.log != nil {
		_ = e.log.Warning(id, eventText(text))
	}
}

// Error calls ReportEventW with EVENTLOG_ERROR_TYPE.
func (e eventLog) Error(id uint32, text string) {
	if e.log != nil {
		_ = e.log.Error(id, eventText(text))
	}
}

// registerEvents names EventCreate.exe, which every Windows has, as the source's message file. It may be called again.
func registerEvents(source string) error {
	key, _, err := registry.CreateKey(registry.LOCAL_MACHINE, eventSources+`\`+source, registry.SET_VALUE)
	if err != nil {
		return fmt.Errorf("event source %s: %w", source, err)
	}
	defer func() { _ = key.Close() }()
	if err := key.SetExpandStringValue("EventMessageFile", `%SystemRoot%\System32\EventCreate.exe`); err != nil {
		return fmt.Errorf("event source %s: %w", source, err)
	}
	types := uint32(windows.EVENTLOG_INFORMATION_TYPE | windows.EVENTLOG_WARNING_TYPE | windows.EVENTLOG_ERROR_TYPE)
	if err := key.SetDWordValue("TypesSupported", types); err != nil {
		return fmt.Errorf("event source %s: %w", source, err)
	}
	return nil
}

// removeEvents removes the source. A missing one is success.
func removeEvents(source string) error {
	err := registry.DeleteKey(registry.LOCAL_MACHINE, eventSources+`\`+source)
	if err != nil && !errors.Is(err, registry.ErrNotExist) {
		return fmt.Errorf("event source %s: %w", source, err)
	}
	return nil
}
