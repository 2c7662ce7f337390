// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"os"
)

// SettingsVariable names the environment variable by which the owner of a machine allows tests to change settings of
// it: values in the registry, automount, and the iSCSI initiator's secret for mutual CHAP. No prefix marks these, so
// what they were is written down before.
const SettingsVariable = "CSI_PROXY_TEST_SETTINGS"

// maySet returns an Unavailable unless the owner of this machine has allowed to change its settings.
func maySet(what string) error {
	if os.Getenv(SettingsVariable) != "" {
		return nil
	}
	return Unavailable(fmt.Sprintf("%s is changed only with run.ps1 -Settings (%s=1)", what, SettingsVariable))
}

// MaySetCHAP returns an Unavailable unless the owner of this machine has allowed to replace the initiator's secret for
// mutual CHAP, which is cleared afterwards. Whether one was set in advance cannot be found out: iscsidsc.dll, VDS and
// WMI have functions that set or clear it, and none that reads it.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-setiscsiinitiatorchapsharedsecret
func MaySetCHAP() error {
	return maySet("the secret for mutual CHAP, which cannot be read and is lost,")
}
