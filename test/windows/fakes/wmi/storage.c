// SPDX-License-Identifier: Apache-2.0
//
// The provider of MSFT_StorageSetting: https://learn.microsoft.com/windows-hardware/drivers/storage/msft-storagesetting. The
// pages of its methods list no failure; "error MSFT_StorageSetting.METHOD CODE" in the control file orders one.

#include "wmi.h"

HRESULT storage_setting_get(struct object *instance, struct object *in, struct object *out, DWORD *code)
{
	(void)instance, (void)in;
	// The text of an embedded instance, with the policy of a Windows Server: disks of shared buses stay offline.
	set_text(out, L"StorageSettings", L"instance of MSFT_StorageSetting\n{\n\tNewDiskPolicy = 2;\n\tScrubPolicy = 1;\n};\n");
	*code = ERROR_SUCCESS;
	return S_OK;
}

HRESULT storage_setting_set(struct object *instance, struct object *in, struct object *out, DWORD *code)
{
	struct field *policy = find_field(in, L"NewDiskPolicy"), *scrub = find_field(in, L"ScrubPolicy");
	(void)instance, (void)out;
	*code = ERROR_SUCCESS;
	if ((V_VT(&policy->value) == VT_I4 && V_I4(&policy->value) > 4) ||
	    (V_VT(&scrub->value) == VT_I4 && (ULONG)V_I4(&scrub->value) > 2)) {
		violation(L"Set: a policy that the page does not list");
		*code = ERROR_INVALID_PARAMETER;
	}
	return S_OK;
}

HRESULT storage_setting_update(struct object *instance, struct object *in, struct object *out, DWORD *code)
{
	(void)instance, (void)in, (void)out;
	*code = ERROR_SUCCESS;
	return S_OK;
}
