// SPDX-License-Identifier: Apache-2.0
//
// The members of the scripting objects: https://learn.microsoft.com/windows/win32/wmisdk/scripting-api-for-wmi. Each calls the
// interface behind it, so what holds there holds here.

#include "scripting.h"

#include <stdio.h>

// Arguments that were left out are VT_ERROR with DISP_E_PARAMNOTFOUND.
static bool is_missing(const VARIANT *arguments, UINT count, UINT index)
{
	return index >= count || (V_VT(&arguments[index]) == VT_ERROR && V_ERROR(&arguments[index]) == DISP_E_PARAMNOTFOUND);
}

static HRESULT text_argument(VARIANT *arguments, UINT count, UINT index, const wchar_t *fallback, BSTR *text)
{
	*text = NULL;
	if (is_missing(arguments, count, index)) {
		*text = fallback ? SysAllocString(fallback) : NULL;
		return S_OK;
	}
	if (V_VT(&arguments[index]) != VT_BSTR) {
		violation(L"argument %u is VARIANT type %d, not a string", index + 1, V_VT(&arguments[index]));
		return DISP_E_TYPEMISMATCH;
	}
	is_bstr(L"an argument", L"of Invoke", V_BSTR(&arguments[index]));
	*text = SysAllocString(V_BSTR(&arguments[index]) ? V_BSTR(&arguments[index]) : L"");
	return S_OK;
}

static HRESULT flags_argument(VARIANT *arguments, UINT count, UINT index, LONG fallback, LONG *flags)
{
	*flags = fallback;
	if (is_missing(arguments, count, index))
		return S_OK;
	VARIANT number;
	VariantInit(&number);
	HRESULT result = VariantChangeType(&number, &arguments[index], 0, VT_I4);
	if (SUCCEEDED(result))
		*flags = V_I4(&number);
	return SUCCEEDED(result) ? S_OK : DISP_E_TYPEMISMATCH;
}

// https://learn.microsoft.com/windows/win32/wmisdk/swbemobject-execmethod-: the path of the object, its method, and an SWbemObject with
// the in-parameters. "Reserved and must be set to 0" are the flags.
static HRESULT object_exec_method(struct script *script, VARIANT *arguments, UINT count, VARIANT *result)
{
	IWbemClassObject *object = (IWbemClassObject *)script->inner, *in = NULL, *out = NULL;
	BSTR name;
	LONG flags;
	VARIANT path;
	HRESULT code = text_argument(arguments, count, 0, NULL, &name);
	if (SUCCEEDED(code))
		code = flags_argument(arguments, count, 2, 0, &flags);
	if (FAILED(code))
		return code;
	if (flags)
		violation(L"ExecMethod_: the flags 0x%lx", flags);
	if (!is_missing(arguments, count, 1)) {
		struct script *parameters = V_VT(&arguments[1]) == VT_DISPATCH ? to_script(V_DISPATCH(&arguments[1])) : NULL;
		if (!parameters || parameters->class != &object_script) {
			violation(L"ExecMethod_: the in-parameters are VARIANT type %d, not an SWbemObject", V_VT(&arguments[1]));
			SysFreeString(name);
			return DISP_E_TYPEMISMATCH;
		}
		in = (IWbemClassObject *)parameters->inner;
	}
	VariantInit(&path);
	IWbemClassObject_Get(object, L"__RELPATH", 0, &path, NULL, NULL);
	if (V_VT(&path) != VT_BSTR || !script->services) {
		violation(L"ExecMethod_ %ls on an object that has no path", name);
		code = WBEM_E_INVALID_OBJECT_PATH;
	} else {
		code = IWbemServices_ExecMethod(script->services, V_BSTR(&path), name, 0, NULL, in, &out, NULL);
	}
	VariantClear(&path);
	SysFreeString(name);
	if (SUCCEEDED(code))
		give_script(new_script(&object_script, (IUnknown *)out, script->services), result);
	return code;
}

// https://learn.microsoft.com/windows/win32/wmisdk/swbemobject-spawninstance-
static HRESULT object_spawn_instance(struct script *script, VARIANT *arguments, UINT count, VARIANT *result)
{
	IWbemClassObject *made;
	LONG flags;
	HRESULT code = flags_argument(arguments, count, 0, 0, &flags);
	if (SUCCEEDED(code))
		code = IWbemClassObject_SpawnInstance((IWbemClassObject *)script->inner, flags, &made);
	return FAILED(code) ? code : give_script(new_script(&object_script, (IUnknown *)made, script->services), result);
}

// https://learn.microsoft.com/windows/win32/wmisdk/swbemmethod-inparameters: an SWbemObject whose properties are the in-parameters. A
// method without any has none.
static HRESULT method_in_parameters(struct script *script, VARIANT *arguments, UINT count, VARIANT *result)
{
	(void)arguments, (void)count;
	IWbemClassObject *in = NULL;
	HRESULT code = IWbemClassObject_GetMethod((IWbemClassObject *)script->inner, script->method, 0, &in, NULL);
	if (FAILED(code))
		return code;
	if (in)
		return give_script(new_script(&object_script, (IUnknown *)in, script->services), result);
	V_VT(result) = VT_DISPATCH;
	V_DISPATCH(result) = NULL;
	return S_OK;
}

static const struct member method_members[] = {
	{L"InParameters", DISPATCH_PROPERTYGET, 0, 0, method_in_parameters},
	{0},
};
static const struct script_class method_script = {L"SWbemMethod", false, method_members};

// The class of an object, which knows its methods: instances do not.
static IWbemClassObject *class_of(IWbemClassObject *iface)
{
	const struct object *object = to_object(iface);
	return object->class ? &new_object(CLASS_DEFINITION, object->class, object->class->properties)->IWbemClassObject_iface : NULL;
}

// https://learn.microsoft.com/windows/win32/wmisdk/swbemmethodset-item: wbemErrNotFound for a name that is not there.
static HRESULT methods_item(struct script *script, VARIANT *arguments, UINT count, VARIANT *result)
{
	BSTR name;
	HRESULT code = text_argument(arguments, count, 0, NULL, &name);
	if (FAILED(code))
		return code;
	const struct object *object = to_object((IWbemClassObject *)script->inner);
	if (find_method(object->class, name)) {
		IUnknown_AddRef(script->inner);
		struct script *method = new_script(&method_script, script->inner, script->services);
		_snwprintf(method->method, sizeof method->method / sizeof(wchar_t) - 1, L"%ls", name);
		give_script(method, result);
	} else {
		violation(L"%ls has no method %ls", object->class->name, name);
		code = WBEM_E_NOT_FOUND;
	}
	SysFreeString(name);
	return code;
}

static const struct member methods_members[] = {
	{L"Item", DISPATCH_METHOD, 1, 2, methods_item},
	{0},
};
static const struct script_class methods_script = {L"SWbemMethodSet", false, methods_members};

static HRESULT object_methods(struct script *script, VARIANT *arguments, UINT count, VARIANT *result)
{
	(void)arguments, (void)count;
	IWbemClassObject *class = class_of((IWbemClassObject *)script->inner);
	if (!class) {
		violation(L"Methods_ of parameters");
		return WBEM_E_INVALID_OPERATION;
	}
	return give_script(new_script(&methods_script, (IUnknown *)class, script->services), result);
}

static const struct member object_members[] = {
	{L"ExecMethod_", DISPATCH_METHOD, 1, 4, object_exec_method},
	{L"Methods_", DISPATCH_PROPERTYGET, 0, 0, object_methods},
	{L"SpawnInstance_", DISPATCH_METHOD, 0, 1, object_spawn_instance},
	{0},
};
const struct script_class object_script = {L"SWbemObject", true, object_members};

// https://learn.microsoft.com/windows/win32/wmisdk/swbemobjectset: a collection, enumerated through _NewEnum.
static HRESULT set_new_enum(struct script *script, VARIANT *arguments, UINT count, VARIANT *result)
{
	(void)arguments, (void)count;
	return new_variant_enumerator((IEnumWbemClassObject *)script->inner, script->services, result);
}

static const struct member set_members[] = {
	{L"_NewEnum", DISPATCH_PROPERTYGET, 0, 0, set_new_enum},
	{0},
};
static const struct script_class set_script = {L"SWbemObjectSet", false, set_members};

// https://learn.microsoft.com/windows/win32/wmisdk/swbemservices-execquery: semisynchronous by default.
static HRESULT services_exec_query(struct script *script, VARIANT *arguments, UINT count, VARIANT *result)
{
	BSTR query = NULL, language = NULL;
	LONG flags;
	IEnumWbemClassObject *found = NULL;
	HRESULT code = text_argument(arguments, count, 0, NULL, &query);
	if (SUCCEEDED(code))
		code = text_argument(arguments, count, 1, L"WQL", &language);
	if (SUCCEEDED(code))
		code = flags_argument(arguments, count, 2, WBEM_FLAG_RETURN_IMMEDIATELY, &flags);
	if (SUCCEEDED(code))
		code = IWbemServices_ExecQuery(script->services, language, query, flags | WBEM_FLAG_ENSURE_LOCATABLE, NULL, &found);
	SysFreeString(query);
	SysFreeString(language);
	return FAILED(code) ? code : give_script(new_script(&set_script, (IUnknown *)found, script->services), result);
}

// https://learn.microsoft.com/windows/win32/wmisdk/swbemservices-get
static HRESULT services_get(struct script *script, VARIANT *arguments, UINT count, VARIANT *result)
{
	BSTR path = NULL;
	LONG flags;
	IWbemClassObject *object = NULL;
	HRESULT code = text_argument(arguments, count, 0, NULL, &path);
	if (SUCCEEDED(code))
		code = flags_argument(arguments, count, 1, 0, &flags);
	if (SUCCEEDED(code))
		code = IWbemServices_GetObject(script->services, path, flags, NULL, &object, NULL);
	SysFreeString(path);
	return FAILED(code) ? code : give_script(new_script(&object_script, (IUnknown *)object, script->services), result);
}

static const struct member services_members[] = {
	{L"ExecQuery", DISPATCH_METHOD, 1, 4, services_exec_query},
	{L"Get", DISPATCH_METHOD, 0, 3, services_get},
	{0},
};
static const struct script_class services_script = {L"SWbemServices", false, services_members};

// https://learn.microsoft.com/windows/win32/wmisdk/swbemlocator-connectserver. The scripting objects set the blanket themselves, at the
// impersonation level 3: https://learn.microsoft.com/windows/win32/wmisdk/setting-the-default-process-security-level-using-vbscript
static HRESULT locator_connect_server(struct script *script, VARIANT *arguments, UINT count, VARIANT *result)
{
	BSTR text[6] = {0}; // server, namespace, user, password, locale, authority
	LONG flags;
	wchar_t resource[160];
	IWbemServices *services = NULL;
	HRESULT code = flags_argument(arguments, count, 6, 0, &flags);
	for (UINT i = 0; i < 6 && SUCCEEDED(code); i++)
		code = text_argument(arguments, count, i, i == 1 ? L"root\\cimv2" : NULL, &text[i]);
	if (SUCCEEDED(code)) {
		const wchar_t *server = text[0] && *text[0] ? text[0] : L".";
		_snwprintf(resource, sizeof resource / sizeof *resource, L"\\\\%ls\\%ls", server, text[1]);
		BSTR whole = SysAllocString(resource);
		for (UINT i = 2; i < 6; i++) { // blank: the current context
			if (text[i] && !*text[i]) {
				SysFreeString(text[i]);
				text[i] = NULL;
			}
		}
		code = IWbemLocator_ConnectServer((IWbemLocator *)script->inner, whole, text[2], text[3], text[4], flags, text[5], NULL,
			&services);
		SysFreeString(whole);
	}
	for (UINT i = 0; i < 6; i++)
		SysFreeString(text[i]);
	if (SUCCEEDED(code))
		code = CoSetProxyBlanket((IUnknown *)services, RPC_C_AUTHN_WINNT, RPC_C_AUTHZ_NONE, NULL, RPC_C_AUTHN_LEVEL_PKT_PRIVACY,
			RPC_C_IMP_LEVEL_IMPERSONATE, NULL, EOAC_NONE);
	if (SUCCEEDED(code))
		give_script(new_script(&services_script, NULL, services), result);
	if (services)
		IWbemServices_Release(services);
	return code;
}

static const struct member locator_members[] = {
	{L"ConnectServer", DISPATCH_METHOD, 0, 8, locator_connect_server},
	{0},
};
static const struct script_class locator_script = {L"SWbemLocator", false, locator_members};

HRESULT new_script_locator(REFIID id, void **out)
{
	IUnknown *inner;
	HRESULT result = new_locator(&IID_IWbemLocator, (void **)&inner);
	if (FAILED(result))
		return result;
	struct script *locator = new_script(&locator_script, inner, NULL);
	if (locator->apartment.type != APTTYPE_STA)
		violation(L"SWbemLocator is apartment-threaded, and was made outside a single-threaded apartment");
	result = IDispatch_QueryInterface(&locator->IDispatch_iface, id, out);
	IDispatch_Release(&locator->IDispatch_iface);
	return result;
}
