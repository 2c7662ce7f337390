// SPDX-License-Identifier: Apache-2.0
//
// IWbemLocator: https://learn.microsoft.com/windows/win32/api/wbemcli/nn-wbemcli-iwbemlocator

#include "wmi.h"

struct locator {
	IWbemLocator IWbemLocator_iface;
	LONG count;
};

static struct locator *to_locator(IWbemLocator *iface)
{
	return CONTAINING_RECORD(iface, struct locator, IWbemLocator_iface);
}

static HRESULT WINAPI locator_QueryInterface(IWbemLocator *iface, REFIID id, void **out)
{
	*out = NULL;
	if (!IsEqualIID(id, &IID_IUnknown) && !IsEqualIID(id, &IID_IWbemLocator))
		return E_NOINTERFACE;
	*out = iface;
	IWbemLocator_AddRef(iface);
	return S_OK;
}

static ULONG WINAPI locator_AddRef(IWbemLocator *iface)
{
	return InterlockedIncrement(&to_locator(iface)->count);
}

static ULONG WINAPI locator_Release(IWbemLocator *iface)
{
	struct locator *locator = to_locator(iface);
	ULONG count = InterlockedDecrement(&locator->count);
	if (count == 0) {
		free(locator);
		InterlockedDecrement(&references);
	}
	return count;
}

// https://learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-iwbemlocator-connectserver
static HRESULT WINAPI locator_ConnectServer(IWbemLocator *iface, const BSTR resource, const BSTR user, const BSTR password,
	const BSTR locale, LONG flags, const BSTR authority, IWbemContext *context, IWbemServices **out)
{
	(void)iface, (void)context;
	record(L"ConnectServer %ls flags 0x%lx", resource ? resource : L"(NULL)", flags);
	if (!out)
		return WBEM_E_INVALID_PARAMETER;
	*out = NULL;
	if (!resource || !is_bstr(L"ConnectServer", L"strNetworkResource", resource) ||
	    !is_bstr(L"ConnectServer", L"strUser", user) || !is_bstr(L"ConnectServer", L"strPassword", password) ||
	    !is_bstr(L"ConnectServer", L"strLocale", locale) || !is_bstr(L"ConnectServer", L"strAuthority", authority))
		return WBEM_E_INVALID_PARAMETER;
	// The page's remarks: no user, password or authority for a local namespace; wbemcli.h has a code for it.
	if (user || password || authority) {
		violation(L"ConnectServer: credentials for a local namespace");
		return WBEM_E_LOCAL_CREDENTIALS;
	}
	if (locale && _wcsnicmp(locale, L"MS_", 3)) {
		violation(L"ConnectServer: the locale %ls is not of the form MS_xxx", locale);
		return WBEM_E_INVALID_PARAMETER;
	}
	if (flags & ~WBEM_FLAG_CONNECT_USE_MAX_WAIT) {
		violation(L"ConnectServer: the flags 0x%lx", flags);
		return WBEM_E_INVALID_PARAMETER;
	}
	struct apartment caller = {0};
	HRESULT result = apartment_of_caller(L"ConnectServer", &caller);
	if (FAILED(result))
		return result;
	struct wait wait;
	result = disturb(L"ConnectServer", &wait);
	if (SUCCEEDED(result)) {
		// With this flag the call returns in two minutes or less.
		LONG timeout = flags & WBEM_FLAG_CONNECT_USE_MAX_WAIT ? 120000 : (LONG)WBEM_INFINITE;
		if (wait_for(&wait, timeout) != S_OK || service_lost())
			result = HRESULT_FROM_WIN32(RPC_S_SERVER_UNAVAILABLE);
	}
	if (FAILED(result))
		return result;

	const wchar_t *space = resource;
	if (wcsncmp(space, L"\\\\.\\", 4) == 0 || wcsncmp(space, L"//./", 4) == 0)
		space += 4;
	BSTR backslashed = SysAllocString(space);
	for (wchar_t *c = backslashed; *c; c++)
		if (*c == L'/')
			*c = L'\\';
	if (is_namespace(backslashed)) {
		*out = new_services(backslashed);
	} else {
		violation(L"ConnectServer: there is no namespace %ls", resource);
		result = WBEM_E_INVALID_NAMESPACE;
	}
	SysFreeString(backslashed);
	return result;
}

static IWbemLocatorVtbl locator_vtable = {
	locator_QueryInterface, locator_AddRef, locator_Release, locator_ConnectServer,
};

HRESULT new_locator(REFIID id, void **out)
{
	struct locator *locator = calloc(1, sizeof *locator);
	locator->IWbemLocator_iface.lpVtbl = &locator_vtable;
	locator->count = 1;
	InterlockedIncrement(&references);
	HRESULT result = IWbemLocator_QueryInterface(&locator->IWbemLocator_iface, id, out);
	IWbemLocator_Release(&locator->IWbemLocator_iface);
	return result;
}
