// SPDX-License-Identifier: Apache-2.0
//
// IEnumVARIANT of an SWbemObjectSet: https://learn.microsoft.com/windows/win32/api/oaidl/nn-oaidl-ienumvariant

#include "scripting.h"

struct variants {
	IEnumVARIANT IEnumVARIANT_iface;
	LONG count;
	IEnumWbemClassObject *inner;
	IWbemServices *services;
	struct apartment apartment;
};

static struct variants *to_variants(IEnumVARIANT *iface)
{
	return CONTAINING_RECORD(iface, struct variants, IEnumVARIANT_iface);
}

static HRESULT WINAPI variants_QueryInterface(IEnumVARIANT *iface, REFIID id, void **out)
{
	*out = NULL;
	if (!IsEqualIID(id, &IID_IUnknown) && !IsEqualIID(id, &IID_IEnumVARIANT))
		return E_NOINTERFACE;
	*out = iface;
	IEnumVARIANT_AddRef(iface);
	return S_OK;
}

static ULONG WINAPI variants_AddRef(IEnumVARIANT *iface)
{
	return InterlockedIncrement(&to_variants(iface)->count);
}

static ULONG WINAPI variants_Release(IEnumVARIANT *iface)
{
	struct variants *variants = to_variants(iface);
	ULONG count = InterlockedDecrement(&variants->count);
	if (count == 0) {
		IEnumWbemClassObject_Release(variants->inner);
		IWbemServices_Release(variants->services);
		free(variants);
		InterlockedDecrement(&references);
	}
	return count;
}

// https://learn.microsoft.com/windows/win32/api/oaidl/nf-oaidl-ienumvariant-next: S_FALSE for fewer than were asked for.
static HRESULT WINAPI variants_Next(IEnumVARIANT *iface, ULONG wanted, VARIANT *out, ULONG *fetched)
{
	struct variants *variants = to_variants(iface);
	ULONG got = 0;
	HRESULT result = in_apartment(L"IEnumVARIANT::Next", &variants->apartment);
	for (; SUCCEEDED(result) && got < wanted; got++) {
		IWbemClassObject *object;
		ULONG returned;
		VariantInit(&out[got]);
		result = IEnumWbemClassObject_Next(variants->inner, (LONG)WBEM_INFINITE, 1, &object, &returned);
		if (result != S_OK)
			break;
		give_script(new_script(&object_script, (IUnknown *)object, variants->services), &out[got]);
	}
	if (fetched)
		*fetched = got;
	if (FAILED(result))
		return result;
	return got == wanted ? S_OK : S_FALSE;
}

static HRESULT WINAPI variants_Skip(IEnumVARIANT *iface, ULONG count)
{
	return IEnumWbemClassObject_Skip(to_variants(iface)->inner, (LONG)WBEM_INFINITE, count);
}

static HRESULT WINAPI variants_Reset(IEnumVARIANT *iface)
{
	return IEnumWbemClassObject_Reset(to_variants(iface)->inner);
}

static HRESULT WINAPI variants_Clone(IEnumVARIANT *iface, IEnumVARIANT **out)
{
	(void)iface;
	*out = NULL;
	violation(L"IEnumVARIANT::Clone is not part of this fake");
	return E_NOTIMPL;
}

static IEnumVARIANTVtbl variants_vtable = {
	variants_QueryInterface, variants_AddRef, variants_Release, variants_Next, variants_Skip, variants_Reset, variants_Clone,
};

HRESULT new_variant_enumerator(IEnumWbemClassObject *inner, IWbemServices *services, VARIANT *result)
{
	struct variants *variants = calloc(1, sizeof *variants);
	variants->IEnumVARIANT_iface.lpVtbl = &variants_vtable;
	variants->count = 1;
	variants->inner = inner;
	variants->services = services;
	IEnumWbemClassObject_AddRef(inner);
	IWbemServices_AddRef(services);
	apartment_of_caller(L"_NewEnum", &variants->apartment);
	InterlockedIncrement(&references);
	V_VT(result) = VT_UNKNOWN;
	V_UNKNOWN(result) = (IUnknown *)&variants->IEnumVARIANT_iface;
	return S_OK;
}
