// SPDX-License-Identifier: Apache-2.0

package kernel

func (k *intercepted) QueryService(name string) (Service, error) {
	return returned(k, Call{Function: "QueryService", Object: name},
		func() (Service, error) { return k.kernel.QueryService(name) })
}

func (k *intercepted) StartService(name string) error {
	return k.do("StartService", name, func() error { return k.kernel.StartService(name) })
}

func (k *intercepted) StopService(name string) error {
	return k.do("StopService", name, func() error { return k.kernel.StopService(name) })
}

func (k *intercepted) DependentServices(name string) ([]string, error) {
	return returned(k, Call{Function: "DependentServices", Object: name},
		func() ([]string, error) { return k.kernel.DependentServices(name) })
}

func (k *intercepted) SystemFirmwareTable(provider, id uint32) ([]byte, error) {
	return returned(k, Call{Function: "SystemFirmwareTable", Code: provider, Parameters: []any{id}},
		func() ([]byte, error) { return k.kernel.SystemFirmwareTable(provider, id) })
}

func (k *intercepted) RegistryStrings(key, value string) ([]string, error) {
	return returned(k, Call{Function: "RegistryStrings", Object: key + `\` + value},
		func() ([]string, error) { return k.kernel.RegistryStrings(key, value) })
}

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

func (k *intercepted) EnablePrivilege(name string) error {
	return k.do("EnablePrivilege", name, func() error { return k.kernel.EnablePrivilege(name) })
}
