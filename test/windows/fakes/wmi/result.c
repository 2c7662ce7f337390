// SPDX-License-Identifier: Apache-2.0
//
// IWbemCallResult of a semisynchronous call: https://learn.microsoft.com/windows/win32/api/wbemcli/nn-wbemcli-iwbemcallresult

#include "wmi.h"

struct result {
	IWbemCallResult IWbemCallResult_iface;
	struct security security;
	LONG count;
	struct wait wait;
	LONG status;
	IWbemClassObject *object; // may be NULL
	struct apartment apartment;
};

static struct result *to_result(IWbemCallResult *iface)
{
	return CONTAINING_RECORD(iface, struct result, IWbemCallResult_iface);
}

static HRESULT WINAPI result_QueryInterface(IWbemCallResult *iface, REFIID id, void **out)
{
	*out = NULL;
	if (IsEqualIID(id, &IID_IUnknown) || IsEqualIID(id, &IID_IWbemCallResult))
		*out = iface;
	else if (IsEqualIID(id, &IID_IClientSecurity))
		*out = &to_result(iface)->security.IClientSecurity_iface;
	else
		return E_NOINTERFACE;
	IWbemCallResult_AddRef(iface);
	return S_OK;
}

static ULONG WINAPI result_AddRef(IWbemCallResult *iface)
{
	return InterlockedIncrement(&to_result(iface)->count);
}

static ULONG WINAPI result_Release(IWbemCallResult *iface)
{
	struct result *result = to_result(iface);
	ULONG count = InterlockedDecrement(&result->count);
	if (count == 0) {
		if (result->object)
			IWbemClassObject_Release(result->object);
		free(result);
		InterlockedDecrement(&references);
	}
	return count;
}

// Waits for the call to be complete: WBEM_S_TIMEDOUT if it is not.
static HRESULT complete(struct result *result, const wchar_t *call, LONG timeout)
{
	HRESULT code = in_apartment(call, &result->apartment);
	return FAILED(code) ? code : wait_for(&result->wait, timeout);
}

static HRESULT WINAPI result_GetResultObject(IWbemCallResult *iface, LONG timeout, IWbemClassObject **out)
{
	struct result *result = to_result(iface);
	record(L"GetResultObject");
	*out = NULL;
	HRESULT code = complete(result, L"GetResultObject", timeout);
	if (code != S_OK)
		return code;
	if (FAILED(result->status) || !result->object)
		return FAILED(result->status) ? result->status : WBEM_E_NOT_AVAILABLE;
	*out = result->object;
	IWbemClassObject_AddRef(*out);
	return S_OK;
}

static HRESULT WINAPI result_GetResultString(IWbemCallResult *iface, LONG timeout, BSTR *out)
{
	(void)iface, (void)timeout, (void)out;
	violation(L"GetResultString: no PutInstance succeeds here");
	return WBEM_E_INVALID_OPERATION;
}

static HRESULT WINAPI result_GetResultServices(IWbemCallResult *iface, LONG timeout, IWbemServices **out)
{
	(void)iface, (void)timeout, (void)out;
	violation(L"GetResultServices: no OpenNamespace succeeds here");
	return WBEM_E_INVALID_OPERATION;
}

// https://learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-iwbemcallresult-getcallstatus
static HRESULT WINAPI result_GetCallStatus(IWbemCallResult *iface, LONG timeout, LONG *status)
{
	struct result *result = to_result(iface);
	record(L"GetCallStatus");
	if (!status)
		return WBEM_E_INVALID_PARAMETER;
	HRESULT code = complete(result, L"GetCallStatus", timeout);
	if (code == S_OK)
		*status = result->status;
	return code;
}

static IWbemCallResultVtbl result_vtable = {
	result_QueryInterface,
	result_AddRef,
	result_Release,
	result_GetResultObject,
	result_GetResultString,
	result_GetResultServices,
	result_GetCallStatus,
};

// new_result takes over the reference to the object.
IWbemCallResult *new_result(const struct wait *wait, LONG status, IWbemClassObject *object)
{
	struct result *result = calloc(1, sizeof *result);
	result->IWbemCallResult_iface.lpVtbl = &result_vtable;
	make_security(&result->security, (IUnknown *)&result->IWbemCallResult_iface);
	result->count = 1;
	result->wait = *wait;
	result->status = status;
	result->object = object;
	apartment_of_caller(L"a semisynchronous call", &result->apartment);
	InterlockedIncrement(&references);
	return &result->IWbemCallResult_iface;
}
