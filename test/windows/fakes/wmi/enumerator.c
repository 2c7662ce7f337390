// SPDX-License-Identifier: Apache-2.0
//
// IEnumWbemClassObject: https://learn.microsoft.com/windows/win32/api/wbemcli/nn-wbemcli-ienumwbemclassobject
// It is a proxy of a connection on Windows, so it belongs to an apartment and dies with the service.

#include "wmi.h"

struct enumerator {
	IEnumWbemClassObject IEnumWbemClassObject_iface;
	struct security security;
	LONG count;
	LONG flags;
	unsigned long generation;
	struct apartment apartment;
	struct wait wait;
	HRESULT failure; // of the query, for the first Next of a semisynchronous call
	struct rows rows;
	size_t position;
};

static IEnumWbemClassObjectVtbl enumerator_vtable;

static struct enumerator *to_enumerator(IEnumWbemClassObject *iface)
{
	return CONTAINING_RECORD(iface, struct enumerator, IEnumWbemClassObject_iface);
}

static HRESULT WINAPI enum_QueryInterface(IEnumWbemClassObject *iface, REFIID id, void **out)
{
	*out = NULL;
	if (IsEqualIID(id, &IID_IUnknown) || IsEqualIID(id, &IID_IEnumWbemClassObject))
		*out = iface;
	else if (IsEqualIID(id, &IID_IClientSecurity))
		*out = &to_enumerator(iface)->security.IClientSecurity_iface;
	else
		return E_NOINTERFACE;
	IEnumWbemClassObject_AddRef(iface);
	return S_OK;
}

static ULONG WINAPI enum_AddRef(IEnumWbemClassObject *iface)
{
	return InterlockedIncrement(&to_enumerator(iface)->count);
}

static ULONG WINAPI enum_Release(IEnumWbemClassObject *iface)
{
	struct enumerator *enumerator = to_enumerator(iface);
	ULONG count = InterlockedDecrement(&enumerator->count);
	if (count == 0) {
		free_rows(&enumerator->rows);
		free(enumerator);
		InterlockedDecrement(&references);
	}
	return count;
}

// Reset and Clone are not allowed on a forward-only enumerator: the page of IWbemServices::ExecQuery, WBEM_FLAG_FORWARD_ONLY.
static HRESULT forward_only(struct enumerator *enumerator, const wchar_t *call)
{
	if (!(enumerator->flags & WBEM_FLAG_FORWARD_ONLY))
		return S_OK;
	violation(L"%ls of a forward-only enumerator", call);
	return WBEM_E_INVALID_OPERATION;
}

static HRESULT WINAPI enum_Reset(IEnumWbemClassObject *iface)
{
	struct enumerator *enumerator = to_enumerator(iface);
	HRESULT result = forward_only(enumerator, L"Reset");
	if (SUCCEEDED(result))
		enumerator->position = 0;
	return result;
}

// https://learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-ienumwbemclassobject-next
static HRESULT WINAPI enum_Next(IEnumWbemClassObject *iface, LONG timeout, ULONG wanted, IWbemClassObject **objects,
	ULONG *returned)
{
	struct enumerator *enumerator = to_enumerator(iface);
	record(L"Next %lu", wanted);
	if (!objects || !returned || !wanted) {
		violation(L"IEnumWbemClassObject::Next: no object is wanted, or a pointer is NULL");
		return WBEM_E_INVALID_PARAMETER;
	}
	if (timeout < 0 && timeout != (LONG)WBEM_INFINITE) {
		violation(L"IEnumWbemClassObject::Next: a timeout of %ld", timeout);
		return WBEM_E_INVALID_PARAMETER;
	}
	*returned = 0;
	HRESULT result = in_apartment(L"Next", &enumerator->apartment);
	if (FAILED(result))
		return result;
	struct wait wait;
	result = disturb(L"Next", &wait);
	if (FAILED(result))
		return result;
	ULONGLONG start = GetTickCount64();
	result = wait_for(&enumerator->wait, timeout);
	if (result == S_OK) {
		LONG spent = (LONG)(GetTickCount64() - start);
		result = wait_for(&wait, timeout == (LONG)WBEM_INFINITE ? timeout : spent < timeout ? timeout - spent : 0);
	}
	if (service_lost() || enumerator->generation != generation())
		return HRESULT_FROM_WIN32(RPC_S_SERVER_UNAVAILABLE);
	if (result != S_OK)
		return result;
	if (FAILED(enumerator->failure))
		return enumerator->failure;
	while (*returned < wanted && enumerator->position < enumerator->rows.count) {
		// A copy, because the real one unmarshals an object of the caller's own.
		IWbemClassObject *row = &enumerator->rows.items[enumerator->position++]->IWbemClassObject_iface;
		IWbemClassObject_Clone(row, &objects[(*returned)++]);
	}
	return *returned == wanted ? WBEM_S_NO_ERROR : WBEM_S_FALSE;
}

static HRESULT WINAPI enum_NextAsync(IEnumWbemClassObject *iface, ULONG wanted, IWbemObjectSink *sink)
{
	(void)iface, (void)wanted, (void)sink;
	violation(L"NextAsync is not part of this fake");
	return WBEM_E_NOT_SUPPORTED;
}

static HRESULT WINAPI enum_Clone(IEnumWbemClassObject *iface, IEnumWbemClassObject **out)
{
	struct enumerator *enumerator = to_enumerator(iface);
	HRESULT result = forward_only(enumerator, L"Clone");
	if (FAILED(result))
		return result;
	struct enumerator *copy = calloc(1, sizeof *copy);
	*copy = *enumerator;
	copy->count = 1;
	make_security(&copy->security, (IUnknown *)&copy->IEnumWbemClassObject_iface);
	memset(&copy->rows, 0, sizeof copy->rows);
	for (size_t i = 0; i < enumerator->rows.count; i++) {
		IWbemClassObject_AddRef(&enumerator->rows.items[i]->IWbemClassObject_iface);
		append_row(&copy->rows, enumerator->rows.items[i]);
	}
	InterlockedIncrement(&references);
	*out = &copy->IEnumWbemClassObject_iface;
	return S_OK;
}

static HRESULT WINAPI enum_Skip(IEnumWbemClassObject *iface, LONG timeout, ULONG count)
{
	struct enumerator *enumerator = to_enumerator(iface);
	(void)timeout;
	size_t left = enumerator->rows.count - enumerator->position;
	enumerator->position += count < left ? count : left;
	return count <= left ? WBEM_S_NO_ERROR : WBEM_S_FALSE;
}

static IEnumWbemClassObjectVtbl enumerator_vtable = {
	enum_QueryInterface, enum_AddRef, enum_Release, enum_Reset, enum_Next, enum_NextAsync, enum_Clone, enum_Skip,
};

IEnumWbemClassObject *new_enumerator(struct services *services, LONG flags, const struct wait *wait, HRESULT failure,
	struct rows *rows)
{
	struct enumerator *enumerator = calloc(1, sizeof *enumerator);
	enumerator->IEnumWbemClassObject_iface.lpVtbl = &enumerator_vtable;
	enumerator->count = 1;
	make_security(&enumerator->security, (IUnknown *)&enumerator->IEnumWbemClassObject_iface);
	enumerator->flags = flags;
	enumerator->generation = services->generation;
	enumerator->apartment = services->apartment;
	enumerator->wait = *wait;
	enumerator->failure = failure;
	enumerator->rows = *rows;
	InterlockedIncrement(&references);
	return &enumerator->IEnumWbemClassObject_iface;
}
