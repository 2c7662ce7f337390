// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/windows/registry"
)

// settingsKey is where it is written down what settings were, in HKEY_LOCAL_MACHINE, where only administrators write.
// A value's name is the setting's, its text what the setting was.
const settingsKey = `SOFTWARE\csiproxy-tests`

// The settings that are not values in the registry. Those have the name of their key, a colon and their own.
const (
	automountSetting = "automount"
	secretSetting    = "iSCSI secret"
)

// change changes a setting until the test ends, when it is what it was before. The machine's owner must allow it.
func change(t testing.TB, setting, before string, do func() error) error {
	t.Helper()
	if err := maySet(setting); err != nil {
		return err
	}
	key, _, err := registry.CreateKey(registry.LOCAL_MACHINE, settingsKey, registry.ALL_ACCESS)
	if err != nil {
		return err
	}
	defer func() { _ = key.Close() }()
	if _, _, err := key.GetStringValue(setting); errors.Is(err, registry.ErrNotExist) { // or it was changed already
		if err := key.SetStringValue(setting, before); err != nil {
			return err
		}
		atEnd(t, "restoring "+setting, func(context.Context) error { return restore(setting) })
	}
	return do()
}

// restore gives a setting what is written down, and strikes it out. A setting that is not written down was not changed.
func restore(setting string) error {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, settingsKey, registry.ALL_ACCESS)
	if errors.Is(err, registry.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = key.Close() }()
	before, _, err := key.GetStringValue(setting)
	if errors.Is(err, registry.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	path, name, isValue := strings.Cut(setting, ":")
	switch {
	case isValue:
		err = registryNumber{key: path, name: name}.restore(before)
	case setting == automountSetting:
		err = mountvol(before)
	case setting == secretSetting: // there is none again
		err = nativeKernel().SetISCSIInitiatorCHAPSharedSecret(nil)
	default:
		err = fmt.Errorf("unknown setting %q", setting)
	}
	if err != nil {
		return err
	}
	return key.DeleteValue(setting)
}

// restoreAll gives all settings what is written down, which a killed run has left.
func restoreAll() error {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, settingsKey, registry.QUERY_VALUE)
	if errors.Is(err, registry.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	names, err := key.ReadValueNames(0)
	failures := []error{err, key.Close()}
	for _, name := range names {
		failures = append(failures, restore(name))
	}
	return errors.Join(failures...)
}

// A registryNumber is a REG_DWORD below HKEY_LOCAL_MACHINE, and what it is to be.
type registryNumber struct {
	key, name string
	want      uint32
}

// read returns the number, "" if there is none.
func (r registryNumber) read() (string, error) {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, r.key, registry.QUERY_VALUE)
	if errors.Is(err, registry.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = key.Close() }()
	number, _, err := key.GetIntegerValue(r.name)
	if errors.Is(err, registry.ErrNotExist) {
		return "", nil
	}
	return fmt.Sprint(number), err
}

// set gives it the wanted number until the test ends.
func (r registryNumber) set(t testing.TB) error {
	t.Helper()
	before, err := r.read()
	if err != nil || before == fmt.Sprint(r.want) {
		return err
	}
	return change(t, r.key+":"+r.name, before, func() error { return r.restore(fmt.Sprint(r.want)) })
}

// restore gives it a number, or removes it.
func (r registryNumber) restore(number string) error {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, r.key, registry.SET_VALUE)
	if err != nil {
		return err
	}
	defer func() { _ = key.Close() }()
	if number == "" {
		if err := key.DeleteValue(r.name); !errors.Is(err, registry.ErrNotExist) {
			return err
		}
		return nil
	}
	value, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return err
	}
	return key.SetDWordValue(r.name, uint32(value))
}

// setAutomount sets whether the mount manager mounts new volumes, on or off, until the test ends.
func setAutomount(t testing.TB, setting string) error {
	t.Helper()
	number, err := registryNumber{key: `SYSTEM\CurrentControlSet\Services\MountMgr`, name: "NoAutoMount"}.read()
	before := "off"
	if number == "" || number == "0" {
		before = "on"
	}
	if err != nil || before == setting {
		return err
	}
	return change(t, automountSetting, before, func() error { return mountvol(setting) })
}

// mountvol runs Windows' own tool, which tells the mount manager its setting.
// https://learn.microsoft.com/windows-server/administration/windows-commands/mountvol
func mountvol(setting string) error {
	flag, known := map[string]string{"on": "/E", "off": "/N"}[setting]
	if !known {
		return fmt.Errorf("automount is on or off, not %q", setting)
	}
	_, err := runTool("mountvol.exe", nil, flag)
	return err
}

// atEnd does something when the test ends, and fails the test if that fails.
func atEnd(t testing.TB, what string, do func(ctx context.Context) error) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute) // the test's own context has ended
		defer cancel()
		if err := do(ctx); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	})
}
