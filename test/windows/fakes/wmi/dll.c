// SPDX-License-Identifier: Apache-2.0
//
// The DLL's entry points and the class factories: of CLSID_WbemLocator, which Windows registers with the threading model
// "Both", so its objects are called directly from every apartment, and of CLSID_SWbemLocator, the scripting object, whose
// model is "Apartment". A test registers this DLL so, too.

#include "wmi.h"

#include <wbemdisp.h>

LONG references;

static IClassFactory factory, script_factory;

static HRESULT WINAPI factory_QueryInterface(IClassFactory *factory, REFIID id, void **out)
{
	*out = NULL;
	if (!IsEqualIID(id, &IID_IUnknown) && !IsEqualIID(id, &IID_IClassFactory))
		return E_NOINTERFACE;
	*out = factory;
	IClassFactory_AddRef(factory);
	return S_OK;
}

static ULONG WINAPI factory_AddRef(IClassFactory *factory)
{
	(void)factory;
	return InterlockedIncrement(&references);
}

static ULONG WINAPI factory_Release(IClassFactory *factory)
{
	(void)factory;
	return InterlockedDecrement(&references);
}

static HRESULT WINAPI factory_CreateInstance(IClassFactory *factory, IUnknown *outer, REFIID id, void **out)
{
	*out = NULL;
	if (outer)
		return CLASS_E_NOAGGREGATION;
	return factory == &script_factory ? new_script_locator(id, out) : new_locator(id, out);
}

static HRESULT WINAPI factory_LockServer(IClassFactory *factory, BOOL lock)
{
	(void)factory;
	if (lock)
		InterlockedIncrement(&references);
	else
		InterlockedDecrement(&references);
	return S_OK;
}

static IClassFactoryVtbl factory_vtable = {
	factory_QueryInterface, factory_AddRef, factory_Release, factory_CreateInstance, factory_LockServer,
};
static IClassFactory factory = {&factory_vtable}, script_factory = {&factory_vtable};

HRESULT WINAPI DllGetClassObject(REFCLSID class, REFIID id, void **out)
{
	*out = NULL;
	if (IsEqualCLSID(class, &CLSID_SWbemLocator))
		return IClassFactory_QueryInterface(&script_factory, id, out);
	if (!IsEqualCLSID(class, &CLSID_WbemLocator))
		return CLASS_E_CLASSNOTAVAILABLE;
	return IClassFactory_QueryInterface(&factory, id, out);
}

HRESULT WINAPI DllCanUnloadNow(void)
{
	return references == 0 ? S_OK : S_FALSE;
}

BOOL WINAPI DllMain(HINSTANCE dll, DWORD reason, void *reserved)
{
	(void)reserved;
	if (reason == DLL_PROCESS_ATTACH) {
		DisableThreadLibraryCalls(dll);
		set_directory(dll);
	}
	return TRUE;
}
