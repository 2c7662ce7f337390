// SPDX-License-Identifier: Apache-2.0

package kernel

func (k *intercepted) EnablePrivilege(name string) error {
	return k.do("EnablePrivilege", name, func() error { return k.kernel.EnablePrivilege(name) })
}
