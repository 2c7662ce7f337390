// SPDX-License-Identifier: Apache-2.0

package kernel

func (k *intercepted) QueryService(name string) (s Service, err error) {
	err = k.do("QueryService", name, func() (err error) { s, err = k.kernel.QueryService(name); return err })
	return s, err
}

func (k *intercepted) StartService(name string) error {
	return k.do("StartService", name, func() error { return k.kernel.StartService(name) })
}

func (k *intercepted) StopService(name string) error {
	return k.do("StopService", name, func() error { return k.kernel.StopService(name) })
}

func (k *intercepted) DependentServices(name string) (names []string, err error) {
	err = k.do("DependentServices", name, func() (err error) { names, err = k.kernel.DependentServices(name); return err })
	return names, err
}

func (k *intercepted) SystemFirmwareTable(provider, id uint32) (table []byte, err error) {
	err = k.call(Call{Function: "SystemFirmwareTable", Code: provider}, func() (err error) {
		table, err = k.kernel.SystemFirmwareTable(provider, id)
		return err
	})
	return table, err
}

func (k *intercepted) RegistryStrings(key, value string) (texts []string, err error) {
	err = k.do("RegistryStrings", key+`\`+value,
		func() (err error) { texts, err = k.kernel.RegistryStrings(key, value); return err })
	return texts, err
}
