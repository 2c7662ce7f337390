// SPDX-License-Identifier: Apache-2.0
//
// How the Windows code with which a provider failed reaches the caller. The SMB and storage providers post it
// (https://learn.microsoft.com/windows/win32/api/mi/nf-mi-mi_context_posterror), PowerShell shows it as "Windows System Error
// 53", and a client of the COM interface gets it in a way that no page tells. So the control file chooses: as the HRESULT of
// the call (the default), as the method's ReturnValue, or as WBEM_E_FAILED with an error object, MSFT_WmiError, behind
// GetErrorInfo.

#include "wmi.h"

#include <stdio.h>

struct info {
	IErrorInfo IErrorInfo_iface;
	LONG count;
	IWbemClassObject *object;
	wchar_t text[64];
};

static struct info *to_info(IErrorInfo *iface)
{
	return CONTAINING_RECORD(iface, struct info, IErrorInfo_iface);
}

static HRESULT WINAPI info_QueryInterface(IErrorInfo *iface, REFIID id, void **out)
{
	*out = NULL;
	if (IsEqualIID(id, &IID_IWbemClassObject))
		return IWbemClassObject_QueryInterface(to_info(iface)->object, id, out);
	if (!IsEqualIID(id, &IID_IUnknown) && !IsEqualIID(id, &IID_IErrorInfo))
		return E_NOINTERFACE;
	*out = iface;
	IErrorInfo_AddRef(iface);
	return S_OK;
}

static ULONG WINAPI info_AddRef(IErrorInfo *iface)
{
	return InterlockedIncrement(&to_info(iface)->count);
}

static ULONG WINAPI info_Release(IErrorInfo *iface)
{
	struct info *info = to_info(iface);
	ULONG count = InterlockedDecrement(&info->count);
	if (count == 0) {
		IWbemClassObject_Release(info->object);
		free(info);
		InterlockedDecrement(&references);
	}
	return count;
}

static HRESULT WINAPI info_GetGUID(IErrorInfo *iface, GUID *id)
{
	(void)iface;
	memset(id, 0, sizeof *id);
	return S_OK;
}

static HRESULT WINAPI info_GetText(IErrorInfo *iface, BSTR *text)
{
	*text = SysAllocString(to_info(iface)->text);
	return S_OK;
}

static HRESULT WINAPI info_GetHelpContext(IErrorInfo *iface, DWORD *context)
{
	(void)iface;
	*context = 0;
	return S_OK;
}

static IErrorInfoVtbl info_vtable = {
	info_QueryInterface, info_AddRef, info_Release, info_GetGUID, info_GetText, info_GetText, info_GetText, info_GetHelpContext,
};

// https://learn.microsoft.com/previous-versions/windows/desktop/ramgmtpsprov/msft-wmierror
static const struct property wmi_error[] = {
	{L"CIMStatusCode", CIM_UINT32, false},
	{L"error_Category", CIM_UINT16, false},
	{L"error_Code", CIM_UINT32, false},
	{L"error_Type", CIM_STRING, false},
	{L"error_WindowsErrorMessage", CIM_STRING, false},
	{L"ErrorType", CIM_UINT16, false},
	{L"Message", CIM_STRING, false},
	{L"MessageID", CIM_STRING, false},
	{0},
};
static const struct method no_methods[] = {{0}};
static const struct class wmi_error_class = {L"ROOT", L"MSFT_WmiError", wmi_error, no_methods, NULL};

static void set_error_info(DWORD code)
{
	struct info *info = calloc(1, sizeof *info);
	struct object *object = new_object(CLASS_INSTANCE, &wmi_error_class, wmi_error);
	_snwprintf(info->text, sizeof info->text / sizeof(wchar_t), L"Windows System Error %lu", code);
	set_number(object, L"CIMStatusCode", 1); // CIM_ERR_FAILED
	set_number(object, L"error_Category", 0);
	set_number(object, L"error_Code", code);
	set_text(object, L"error_Type", L"Win32");
	set_number(object, L"ErrorType", 0);
	set_text(object, L"Message", info->text);
	set_text(object, L"MessageID", info->text);
	info->IErrorInfo_iface.lpVtbl = &info_vtable;
	info->count = 1;
	info->object = &object->IWbemClassObject_iface;
	InterlockedIncrement(&references);
	SetErrorInfo(0, &info->IErrorInfo_iface);
	IErrorInfo_Release(&info->IErrorInfo_iface);
}

HRESULT deliver(const struct class *class, DWORD code, struct object *out)
{
	set_number(out, L"ReturnValue", code);
	// The pages of the storage methods list their codes as return values.
	bool listed = _wcsicmp(class->space, L"ROOT\\Microsoft\\Windows\\Storage") == 0;
	if (code == ERROR_SUCCESS || listed || failures() == FAILURE_RETURN)
		return S_OK;
	if (failures() == FAILURE_HRESULT)
		return HRESULT_FROM_WIN32(code);
	set_error_info(code);
	return WBEM_E_FAILED;
}
