// SPDX-License-Identifier: Apache-2.0

package kernel

func (k *intercepted) SMBGlobalMappings() (mappings []SMBGlobalMapping, err error) {
	err = k.do("SMBGlobalMappings", "", func() (err error) { mappings, err = k.kernel.SMBGlobalMappings(); return err })
	return mappings, err
}

// The interceptor sees neither the user nor the password.
func (k *intercepted) CreateSMBGlobalMapping(remotePath, userName string, password Secret, requirePrivacy bool) error {
	return k.do("CreateSMBGlobalMapping", remotePath, func() error {
		return k.kernel.CreateSMBGlobalMapping(remotePath, userName, password, requirePrivacy)
	})
}

func (k *intercepted) RemoveSMBGlobalMapping(remotePath string) error {
	return k.do("RemoveSMBGlobalMapping", remotePath, func() error { return k.kernel.RemoveSMBGlobalMapping(remotePath) })
}
