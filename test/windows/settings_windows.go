// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/windows/registry"
)

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

// write writes the number.
func (r registryNumber) write(number uint32) error {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, r.key, registry.SET_VALUE)
	if err != nil {
		return err
	}
	defer func() { _ = key.Close() }()
	return key.SetDWordValue(r.name, number)
}

// set gives it the wanted number until the test ends.
func (r registryNumber) set(t testing.TB) error {
	t.Helper()
	before, err := r.read()
	if err != nil || before == fmt.Sprint(r.want) {
		return err
	}
	e := Entry{Kind: KindRegistryValue, Name: r.key + ":" + r.name, Mark: fmt.Sprint(r.want), Before: before}
	return provision(t, e, func(*Entry) error { return r.write(r.want) })
}

// restoreRegistryValue gives a value in the registry what it was before, unless it was changed since.
func restoreRegistryValue(_ context.Context, e Entry) error {
	colon := strings.LastIndex(e.Name, ":")
	if colon < 0 {
		return NotOurs("its name has no colon")
	}
	r := registryNumber{key: e.Name[:colon], name: e.Name[colon+1:]}
	now, err := r.read()
	switch {
	case err != nil || now == e.Before:
		return err
	case now != e.Mark:
		return NotOurs("it is " + now + ", which is not what was set")
	case e.Before != "":
		before, err := strconv.ParseUint(e.Before, 10, 32)
		if err != nil {
			return err
		}
		return r.write(uint32(before))
	}
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, r.key, registry.SET_VALUE)
	if err != nil {
		return err
	}
	defer func() { _ = key.Close() }()
	return key.DeleteValue(r.name)
}

// noAutomount is where the mount manager keeps its setting.
func noAutomount() registryNumber {
	return registryNumber{key: `SYSTEM\CurrentControlSet\Services\MountMgr`, name: "NoAutoMount"}
}

// automount returns the mount manager's setting, in words.
func automount() (string, error) {
	number, err := noAutomount().read()
	if number == "" || number == "0" {
		return "on", err
	}
	return "off", err
}

// restoreAutomount gives the mount manager its setting of before.
func restoreAutomount(_ context.Context, e Entry) error {
	now, err := automount()
	if err != nil || now == e.Before {
		return err
	}
	return mountvol(e.Before)
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
