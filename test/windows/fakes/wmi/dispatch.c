// SPDX-License-Identifier: Apache-2.0
//
// IDispatch for the scripting objects: https://learn.microsoft.com/windows/win32/api/oaidl/nn-oaidl-idispatch. The members of each are
// in scripting.c.

#include "scripting.h"

#include <stdio.h>

static IDispatchVtbl script_vtable;

struct script *to_script(IDispatch *iface)
{
	return iface && iface->lpVtbl == &script_vtable ? CONTAINING_RECORD(iface, struct script, IDispatch_iface) : NULL;
}

// new_script takes over the reference to inner and takes one of its own to services.
struct script *new_script(const struct script_class *class, IUnknown *inner, IWbemServices *services)
{
	struct script *script = calloc(1, sizeof *script);
	script->IDispatch_iface.lpVtbl = &script_vtable;
	script->count = 1;
	script->class = class;
	script->inner = inner;
	script->services = services;
	if (services)
		IWbemServices_AddRef(services);
	apartment_of_caller(class->name, &script->apartment);
	InterlockedIncrement(&references);
	return script;
}

HRESULT give_script(struct script *script, VARIANT *result)
{
	V_VT(result) = VT_DISPATCH;
	V_DISPATCH(result) = &script->IDispatch_iface;
	return S_OK;
}

static HRESULT WINAPI script_QueryInterface(IDispatch *iface, REFIID id, void **out)
{
	*out = NULL;
	if (!IsEqualIID(id, &IID_IUnknown) && !IsEqualIID(id, &IID_IDispatch))
		return E_NOINTERFACE;
	*out = iface;
	IDispatch_AddRef(iface);
	return S_OK;
}

static ULONG WINAPI script_AddRef(IDispatch *iface)
{
	return InterlockedIncrement(&to_script(iface)->count);
}

static ULONG WINAPI script_Release(IDispatch *iface)
{
	struct script *script = to_script(iface);
	if (!script) {
		violation(L"IDispatch::Release on an object that was released before");
		return 0;
	}
	ULONG count = InterlockedDecrement(&script->count);
	if (count == 0) {
		if (script->inner)
			IUnknown_Release(script->inner);
		if (script->services)
			IWbemServices_Release(script->services);
		script->IDispatch_iface.lpVtbl = NULL;
		free(script);
		InterlockedDecrement(&references);
	}
	return count;
}

static HRESULT WINAPI script_GetTypeInfoCount(IDispatch *iface, UINT *count)
{
	(void)iface;
	*count = 0;
	return S_OK;
}

static HRESULT WINAPI script_GetTypeInfo(IDispatch *iface, UINT index, LCID locale, ITypeInfo **info)
{
	(void)iface, (void)index, (void)locale;
	*info = NULL;
	return DISP_E_BADINDEX;
}

// The properties of the object behind an SWbemObject come after its members:
// https://learn.microsoft.com/windows/win32/wmisdk/manipulating-class-and-instance-information, "direct access".
#define FIRST_PROPERTY 1000

static HRESULT WINAPI script_GetIDsOfNames(IDispatch *iface, REFIID id, LPOLESTR *names, UINT count, LCID locale, DISPID *ids)
{
	struct script *script = to_script(iface);
	(void)id, (void)locale;
	if (count != 1) {
		violation(L"%ls: named arguments are not part of this fake", script->class->name);
		return DISP_E_UNKNOWNNAME;
	}
	for (size_t i = 0; script->class->members[i].name; i++) {
		if (_wcsicmp(script->class->members[i].name, names[0]) == 0) {
			*ids = _wcsicmp(names[0], L"_NewEnum") == 0 ? DISPID_NEWENUM : (DISPID)i + 1;
			return S_OK;
		}
	}
	struct object *object = script->class->has_properties ? to_object((IWbemClassObject *)script->inner) : NULL;
	struct field *field = object ? find_field(object, names[0]) : NULL;
	if (field) {
		*ids = FIRST_PROPERTY + (DISPID)(field - object->field);
		return S_OK;
	}
	violation(L"%ls has no member %ls, or it is not part of this fake", script->class->name, names[0]);
	*ids = DISPID_UNKNOWN;
	return DISP_E_UNKNOWNNAME;
}

// A failing member is DISP_E_EXCEPTION, with its code in the EXCEPINFO.
static HRESULT fail(const struct script *script, HRESULT code, EXCEPINFO *exception)
{
	if (exception) {
		memset(exception, 0, sizeof *exception);
		exception->scode = code;
		exception->bstrSource = SysAllocString(script->class->name);
		exception->bstrDescription = SysAllocString(L"the fake WMI fails");
	}
	return DISP_E_EXCEPTION;
}

static HRESULT use_property(struct script *script, struct field *field, WORD flags, VARIANT *arguments, UINT count, VARIANT *result)
{
	IWbemClassObject *object = (IWbemClassObject *)script->inner;
	if (flags & (DISPATCH_PROPERTYPUT | DISPATCH_PROPERTYPUTREF)) {
		if (count != 1)
			return DISP_E_BADPARAMCOUNT;
		return IWbemClassObject_Put(object, field->name, 0, &arguments[0], 0);
	}
	if (count || !result)
		return DISP_E_BADPARAMCOUNT;
	HRESULT code = IWbemClassObject_Get(object, field->name, 0, result, NULL, NULL);
	if (SUCCEEDED(code) && V_VT(result) == VT_UNKNOWN) // an embedded object
		return give_script(new_script(&object_script, V_UNKNOWN(result), script->services), result);
	return code;
}

static HRESULT WINAPI script_Invoke(IDispatch *iface, DISPID id, REFIID riid, LCID locale, WORD flags, DISPPARAMS *parameters,
	VARIANT *result, EXCEPINFO *exception, UINT *bad)
{
	struct script *script = to_script(iface);
	VARIANT arguments[MOST_ARGUMENTS], none;
	(void)riid, (void)locale, (void)bad;
	if (!script) {
		violation(L"IDispatch::Invoke on an object that was released before");
		return E_POINTER;
	}
	UINT count = parameters->cArgs;
	bool put = flags & (DISPATCH_PROPERTYPUT | DISPATCH_PROPERTYPUTREF);
	if (count > MOST_ARGUMENTS)
		return DISP_E_BADPARAMCOUNT;
	// A put names its value; nothing else is named. https://learn.microsoft.com/windows/win32/api/oaidl/nf-oaidl-idispatch-invoke
	if (parameters->cNamedArgs != (put ? 1u : 0u) || (put && parameters->rgdispidNamedArgs[0] != DISPID_PROPERTYPUT)) {
		violation(L"%ls: a put that does not name its value, or named arguments", script->class->name);
		return DISP_E_NONAMEDARGS;
	}
	VariantInit(&none);
	if (!result)
		result = &none;
	VariantInit(result);
	HRESULT code = in_apartment(script->class->name, &script->apartment);
	if (FAILED(code))
		return code;
	for (UINT i = 0; i < count; i++) { // they stand in the opposite order
		VARIANT *argument = &parameters->rgvarg[count - 1 - i];
		VariantInit(&arguments[i]);
		if (FAILED(VariantCopyInd(&arguments[i], argument)))
			return DISP_E_TYPEMISMATCH;
	}
	if (id >= FIRST_PROPERTY && script->class->has_properties) {
		struct object *object = to_object((IWbemClassObject *)script->inner);
		size_t index = (size_t)(id - FIRST_PROPERTY);
		code = index < object->fields ? use_property(script, &object->field[index], flags, arguments, count, result) :
						DISP_E_MEMBERNOTFOUND;
	} else {
		const struct member *member = script->class->members;
		size_t index = 0;
		while (member[index].name &&
		       (id == DISPID_NEWENUM ? wcscmp(member[index].name, L"_NewEnum") != 0 : id != (DISPID)index + 1))
			index++;
		member += index;
		code = DISP_E_MEMBERNOTFOUND;
		if (member->name && !(flags & member->kind)) {
			violation(L"%ls.%ls is invoked as the wrong kind of member: %d", script->class->name, member->name, flags);
		} else if (member->name && (count < member->least || count > member->most)) {
			violation(L"%ls.%ls with %u arguments", script->class->name, member->name, count);
			code = DISP_E_BADPARAMCOUNT;
		} else if (member->name) {
			code = member->call(script, arguments, count, result);
		}
	}
	for (UINT i = 0; i < count; i++)
		VariantClear(&arguments[i]);
	VariantClear(&none);
	if (FAILED(code) && HRESULT_FACILITY(code) == FACILITY_DISPATCH)
		return code;
	return FAILED(code) ? fail(script, code, exception) : S_OK;
}

static IDispatchVtbl script_vtable = {
	script_QueryInterface,
	script_AddRef,
	script_Release,
	script_GetTypeInfoCount,
	script_GetTypeInfo,
	script_GetIDsOfNames,
	script_Invoke,
};
