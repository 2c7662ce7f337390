// SPDX-License-Identifier: Apache-2.0

package kernel

func (k *intercepted) SMBGlobalMappings() ([]SMBGlobalMapping, error) {
	return returned(k, Call{Function: "SMBGlobalMappings"}, k.kernel.SMBGlobalMappings)
}

// The interceptor sees neither the user nor the password.
func (k *intercepted) CreateSMBGlobalMapping(remotePath, userName string, password Secret, requirePrivacy bool) error {
	return k.call(Call{Function: "CreateSMBGlobalMapping", Object: remotePath, Parameters: []any{requirePrivacy}},
		func() error { return k.kernel.CreateSMBGlobalMapping(remotePath, userName, password, requirePrivacy) })
}

func (k *intercepted) RemoveSMBGlobalMapping(remotePath string) error {
	return k.do("RemoveSMBGlobalMapping", remotePath, func() error { return k.kernel.RemoveSMBGlobalMapping(remotePath) })
}
