// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"errors"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
)

// TestISCSIQueries: if the initiator service is running, its answers parse; without it, or without the DLL as under
// Wine, the failure has a code.
func TestISCSIQueries(t *testing.T) {
	k := Kernel{}
	for name, query := range map[string]func() error{
		"ReportISCSISendTargetPortals": func() error {
			b, count, err := k.ReportISCSISendTargetPortals()
			if err == nil {
				_, err = win32.ParseISCSITargetPortalInfos(b, count)
			}
			return err
		},
		"ReportISCSITargets": func() error {
			names, err := k.ReportISCSITargets()
			for _, name := range names {
				if _, _, err := k.ReportISCSITargetPortals(name); err != nil {
					t.Logf("%s: %v", name, err)
				}
				mechanisms, err := k.ISCSIDiscoveryMechanisms(name)
				t.Logf("%s: %q, %v", name, mechanisms, err)
			}
			return err
		},
		"ISCSISessionList": func() error {
			list, err := k.ISCSISessionList()
			if err == nil {
				_, err = win32.ParseISCSISessionList(list.Buffer, list.Base, list.Count)
			}
			return err
		},
		"ISCSIPersistentLogins": func() error {
			b, count, err := k.ISCSIPersistentLogins()
			if err == nil {
				_, err = win32.ParsePersistentISCSILogins(b, count)
			}
			return err
		},
	} {
		var failed *kernel.Error
		if err := query(); err != nil && !errors.As(err, &failed) {
			t.Errorf("%s: %v", name, err)
		} else if err != nil {
			t.Logf("%s: %v", name, err)
		}
	}
}

// TestISCSIUnknown: an unknown object is refused with a code, also in calls with secrets.
func TestISCSIUnknown(t *testing.T) {
	k := Kernel{}
	_, loginErr := k.LoginISCSITarget(kernel.ISCSILogin{
		Target: "iqn.2001-04.com.example:none", Portal: win32.ISCSITargetPortal{Address: "192.0.2.1", Socket: 3260}.Bytes(),
		InformationSpecified: win32.ISCSI_LOGIN_OPTIONS_AUTH_TYPE | win32.ISCSI_LOGIN_OPTIONS_USERNAME | win32.ISCSI_LOGIN_OPTIONS_PASSWORD,
		AuthType:             deviceside.ISCSI_CHAP_AUTH_TYPE, Username: "user", Password: kernel.Secret("twelve-bytes"),
	})
	_, _, devicesErr := k.DevicesForISCSISession(win32.ISCSIUniqueID{AdapterUnique: 1, AdapterSpecific: 2})
	_, mechanismsErr := k.ISCSIDiscoveryMechanisms("iqn.2001-04.com.example:none")
	for name, err := range map[string]error{
		"mechanisms": mechanismsErr, "login": loginErr, "devices": devicesErr,
		"logout": k.LogoutISCSITarget(win32.ISCSIUniqueID{AdapterUnique: 1, AdapterSpecific: 2}),
	} {
		var failed *kernel.Error
		if !errors.As(err, &failed) || failed.Code == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
