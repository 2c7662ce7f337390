// SPDX-License-Identifier: Apache-2.0
//
// IWbemServices: https://learn.microsoft.com/windows/win32/api/wbemcli/nn-wbemcli-iwbemservices. On Windows it is a proxy to the
// service, with what that implies: see enter.

#include "wmi.h"

#include <stdio.h>

#define SERVICES_LACK(function)                                  \
	do {                                                       \
		violation(L"%ls is not part of this fake", function); \
		return WBEM_E_NOT_SUPPORTED;                        \
	} while (0)

static struct services *to_services(IWbemServices *iface)
{
	return CONTAINING_RECORD(iface, struct services, IWbemServices_iface);
}

static HRESULT WINAPI services_QueryInterface(IWbemServices *iface, REFIID id, void **out)
{
	*out = NULL;
	if (IsEqualIID(id, &IID_IUnknown) || IsEqualIID(id, &IID_IWbemServices))
		*out = iface;
	else if (IsEqualIID(id, &IID_IClientSecurity))
		*out = &to_services(iface)->security.IClientSecurity_iface;
	else
		return E_NOINTERFACE;
	IWbemServices_AddRef(iface);
	return S_OK;
}

static ULONG WINAPI services_AddRef(IWbemServices *iface)
{
	return InterlockedIncrement(&to_services(iface)->count);
}

static ULONG WINAPI services_Release(IWbemServices *iface)
{
	struct services *services = to_services(iface);
	ULONG count = InterlockedDecrement(&services->count);
	if (count == 0) {
		free(services);
		InterlockedDecrement(&references);
	}
	return count;
}

static HRESULT alive(struct services *services)
{
	if (service_lost() || services->generation != generation())
		return HRESULT_FROM_WIN32(RPC_S_SERVER_UNAVAILABLE);
	return S_OK;
}

// enter checks what holds for every call: the apartment, a security blanket at which WMI may impersonate the caller, and a
// service that still runs. It then starts the call.
static HRESULT enter(struct services *services, const wchar_t *call, struct wait *wait)
{
	HRESULT result = in_apartment(call, &services->apartment);
	if (FAILED(result))
		return result;
	if (services->security.impersonation < RPC_C_IMP_LEVEL_IMPERSONATE) {
		violation(L"%ls without CoSetProxyBlanket at RPC_C_IMP_LEVEL_IMPERSONATE or above", call);
		return WBEM_E_ACCESS_DENIED;
	}
	result = alive(services);
	return FAILED(result) ? result : disturb(call, wait);
}

// Checks the pair of flags and IWbemCallResult that makes a call semisynchronous.
static HRESULT check_semisynchronous(const wchar_t *call, LONG flags, LONG allowed, IWbemCallResult **result)
{
	if (flags & ~(allowed | WBEM_FLAG_RETURN_IMMEDIATELY)) {
		violation(L"%ls: the flags 0x%lx", call, flags);
		return WBEM_E_INVALID_PARAMETER;
	}
	if (!(flags & WBEM_FLAG_RETURN_IMMEDIATELY) != !result || (result && *result)) {
		violation(L"%ls: WBEM_FLAG_RETURN_IMMEDIATELY goes with a pointer to a NULL IWbemCallResult", call);
		return WBEM_E_INVALID_PARAMETER;
	}
	return S_OK;
}

// Ends a call that yields an object: at once through *result, or when it is complete through *object.
static HRESULT yield(struct services *services, struct wait *wait, HRESULT status, struct object *object,
	IWbemClassObject **out, IWbemCallResult **result)
{
	IWbemClassObject *iface = object ? &object->IWbemClassObject_iface : NULL;
	if (result) {
		*result = new_result(wait, status, iface);
		return WBEM_S_NO_ERROR;
	}
	if (FAILED(alive(services)))
		status = alive(services);
	if (SUCCEEDED(status) && out) {
		*out = iface;
		return status;
	}
	if (iface)
		IWbemClassObject_Release(iface);
	return status;
}

// https://learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-iwbemservices-getobject
static HRESULT WINAPI services_GetObject(IWbemServices *iface, const BSTR text, LONG flags, IWbemContext *context,
	IWbemClassObject **out, IWbemCallResult **call_result)
{
	struct services *services = to_services(iface);
	struct path path;
	struct wait wait;
	struct object *object = NULL;
	(void)context;
	record(L"GetObject %ls", text ? text : L"(NULL)");
	if (out)
		*out = NULL;
	HRESULT result = check_semisynchronous(L"GetObject", flags, WBEM_FLAG_USE_AMENDED_QUALIFIERS | WBEM_FLAG_DIRECT_READ,
		call_result);
	if (FAILED(result))
		return result;
	if (!text)
		SERVICES_LACK(L"GetObject of an empty class");
	if (!is_bstr(L"GetObject", L"strObjectPath", text))
		return WBEM_E_INVALID_PARAMETER;
	result = enter(services, L"GetObject", &wait);
	if (FAILED(result))
		return result;
	if (!call_result)
		wait_for(&wait, (LONG)WBEM_INFINITE);
	result = parse_path(services->space, text, &path);
	if (SUCCEEDED(result)) {
		const struct class *class = find_class(services->space, path.class);
		if (!class) {
			violation(L"GetObject: there is no class %ls in %ls", path.class, services->space);
			result = WBEM_E_NOT_FOUND;
		} else if (path.keys || path.singleton) {
			result = find_instance(class, &path, &object);
		} else {
			object = new_object(CLASS_DEFINITION, class, class->properties);
		}
	}
	return yield(services, &wait, result, object, out, call_result);
}

// https://learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-iwbemservices-execquery, and …-createinstanceenum. A
// semisynchronous call returns at once, and its first Next waits and fails in its place.
static HRESULT enumerate(struct services *services, const wchar_t *call, struct query *query, HRESULT parsed, LONG flags,
	IEnumWbemClassObject **out)
{
	struct wait wait;
	struct rows rows = {0};
	*out = NULL;
	HRESULT result = enter(services, call, &wait);
	if (FAILED(result))
		return result;
	bool semisynchronous = flags & WBEM_FLAG_RETURN_IMMEDIATELY;
	if (!semisynchronous) {
		wait_for(&wait, (LONG)WBEM_INFINITE);
		result = alive(services);
		if (FAILED(result))
			return result;
	}
	if (SUCCEEDED(parsed))
		parsed = run_query(services->space, query, flags & WBEM_FLAG_ENSURE_LOCATABLE, &rows);
	if (FAILED(parsed) && !semisynchronous)
		return parsed;
	*out = new_enumerator(services, flags, &wait, parsed, &rows);
	return WBEM_S_NO_ERROR;
}

static HRESULT WINAPI services_ExecQuery(IWbemServices *iface, const BSTR language, const BSTR text, LONG flags,
	IWbemContext *context, IEnumWbemClassObject **out)
{
	const LONG allowed = WBEM_FLAG_USE_AMENDED_QUALIFIERS | WBEM_FLAG_FORWARD_ONLY | WBEM_FLAG_RETURN_IMMEDIATELY |
			     WBEM_FLAG_ENSURE_LOCATABLE | WBEM_FLAG_DIRECT_READ;
	struct query query;
	(void)context;
	record(L"ExecQuery %ls", text ? text : L"(NULL)");
	if (!text || !language || !out || !is_bstr(L"ExecQuery", L"strQueryLanguage", language) ||
	    !is_bstr(L"ExecQuery", L"strQuery", text))
		return WBEM_E_INVALID_PARAMETER;
	if (flags & ~allowed) {
		violation(L"ExecQuery: the flags 0x%lx", flags);
		return WBEM_E_INVALID_PARAMETER;
	}
	if (_wcsicmp(language, L"WQL")) {
		violation(L"ExecQuery: the language %ls", language);
		return WBEM_E_INVALID_QUERY_TYPE;
	}
	HRESULT parsed = parse_query(text, &query);
	return enumerate(to_services(iface), L"ExecQuery", &query, parsed, flags, out);
}

static HRESULT WINAPI services_CreateInstanceEnum(IWbemServices *iface, const BSTR class, LONG flags, IWbemContext *context,
	IEnumWbemClassObject **out)
{
	const LONG allowed = WBEM_FLAG_USE_AMENDED_QUALIFIERS | WBEM_FLAG_FORWARD_ONLY | WBEM_FLAG_RETURN_IMMEDIATELY |
			     WBEM_FLAG_DIRECT_READ | WBEM_FLAG_SHALLOW;
	struct query query = {0};
	(void)context;
	record(L"CreateInstanceEnum %ls", class ? class : L"(NULL)");
	if (!class || !out || !is_bstr(L"CreateInstanceEnum", L"strFilter", class))
		return WBEM_E_INVALID_PARAMETER;
	if (flags & ~allowed) {
		violation(L"CreateInstanceEnum: the flags 0x%lx", flags);
		return WBEM_E_INVALID_PARAMETER;
	}
	_snwprintf(query.class, sizeof query.class / sizeof(wchar_t) - 1, L"%ls", class);
	return enumerate(to_services(iface), L"CreateInstanceEnum", &query, S_OK, flags, out);
}

// Checks the in-parameters against the method: an object made from its signature, or the signature itself.
static HRESULT check_parameters(const struct class *class, const struct method *method, IWbemClassObject *iface,
	struct object **in)
{
	*in = to_object(iface);
	if (!method->in->name) {
		if (iface)
			violation(L"%ls.%ls has no in-parameters", class->name, method->name);
		return S_OK;
	}
	if (!*in || ((*in)->kind != PARAMETERS && (*in)->kind != SIGNATURE)) {
		violation(L"%ls.%ls: the in-parameters are not those that GetMethod describes", class->name, method->name);
		return WBEM_E_INVALID_METHOD_PARAMETERS;
	}
	for (size_t i = 0; i < (*in)->fields; i++) {
		const struct property *property = method->in;
		while (property->name && _wcsicmp(property->name, (*in)->field[i].name))
			property++;
		if (!property->name || property->type != (*in)->field[i].type) {
			violation(L"%ls.%ls has no in-parameter %ls of CIM type %ld", class->name, method->name, (*in)->field[i].name,
				(*in)->field[i].type);
			return WBEM_E_INVALID_METHOD_PARAMETERS;
		}
	}
	return S_OK;
}

// https://learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-iwbemservices-execmethod
static HRESULT WINAPI services_ExecMethod(IWbemServices *iface, const BSTR text, const BSTR name, LONG flags,
	IWbemContext *context, IWbemClassObject *parameters, IWbemClassObject **out, IWbemCallResult **call_result)
{
	struct services *services = to_services(iface);
	struct path path;
	struct wait wait;
	struct object *instance = NULL, *in = NULL, *produced = NULL;
	wchar_t full[160];
	(void)context;
	record(L"ExecMethod %ls %ls", text ? text : L"(NULL)", name ? name : L"(NULL)");
	if (out)
		*out = NULL;
	HRESULT result = check_semisynchronous(L"ExecMethod", flags, 0, call_result);
	if (FAILED(result))
		return result;
	if (!text || !name || !is_bstr(L"ExecMethod", L"strObjectPath", text) ||
	    !is_bstr(L"ExecMethod", L"strMethodName", name))
		return WBEM_E_INVALID_PARAMETER;
	result = enter(services, L"ExecMethod", &wait);
	if (FAILED(result))
		return result;
	if (!call_result) {
		wait_for(&wait, (LONG)WBEM_INFINITE);
		result = alive(services);
		if (FAILED(result))
			return result;
	}
	result = parse_path(services->space, text, &path);
	const struct class *class = SUCCEEDED(result) ? find_class(services->space, path.class) : NULL;
	const struct method *method = class ? find_method(class, name) : NULL;
	if (SUCCEEDED(result) && !class) {
		violation(L"ExecMethod: there is no class %ls in %ls", path.class, services->space);
		result = WBEM_E_NOT_FOUND;
	} else if (SUCCEEDED(result) && !method) {
		violation(L"ExecMethod: %ls has no method %ls", path.class, name);
		result = WBEM_E_INVALID_METHOD;
	}
	if (SUCCEEDED(result) && !method->is_static && !path.keys) {
		violation(L"%ls.%ls is not a static method; the path %ls names no instance", class->name, method->name, text);
		result = WBEM_E_INVALID_METHOD;
	}
	if (SUCCEEDED(result))
		result = check_parameters(class, method, parameters, &in);
	if (SUCCEEDED(result) && path.keys)
		result = find_instance(class, &path, &instance);
	if (SUCCEEDED(result)) {
		produced = new_object(PARAMETERS, NULL, method->out);
		_snwprintf(full, sizeof full / sizeof *full, L"%ls.%ls", class->name, method->name);
		DWORD code = ordered_error(full);
		if (!code)
			result = method->run(instance, in, produced, &code);
		if (SUCCEEDED(result))
			result = deliver(class, code, produced);
		if (FAILED(result)) {
			IWbemClassObject_Release(&produced->IWbemClassObject_iface);
			produced = NULL;
		}
	}
	if (instance)
		IWbemClassObject_Release(&instance->IWbemClassObject_iface);
	return yield(services, &wait, result, produced, out, call_result);
}

// The SMB and storage classes are changed by their methods alone: no page tells of PutInstance or DeleteInstance for them.
static HRESULT WINAPI services_PutInstance(IWbemServices *iface, IWbemClassObject *object, LONG flags, IWbemContext *context,
	IWbemCallResult **result)
{
	(void)iface, (void)object, (void)flags, (void)context, (void)result;
	violation(L"PutInstance of a class that has methods for it");
	return WBEM_E_PROVIDER_NOT_CAPABLE;
}

static HRESULT WINAPI services_DeleteInstance(IWbemServices *iface, const BSTR path, LONG flags, IWbemContext *context,
	IWbemCallResult **result)
{
	(void)iface, (void)flags, (void)context, (void)result;
	violation(L"DeleteInstance %ls of a class that has a method for it", path);
	return WBEM_E_PROVIDER_NOT_CAPABLE;
}

static HRESULT WINAPI services_OpenNamespace(IWbemServices *s, const BSTR n, LONG f, IWbemContext *c, IWbemServices **o,
	IWbemCallResult **r)
{
	(void)s, (void)n, (void)f, (void)c, (void)o, (void)r;
	SERVICES_LACK(L"OpenNamespace");
}
static HRESULT WINAPI services_CancelAsyncCall(IWbemServices *s, IWbemObjectSink *k)
{
	(void)s, (void)k;
	SERVICES_LACK(L"CancelAsyncCall");
}
static HRESULT WINAPI services_QueryObjectSink(IWbemServices *s, LONG f, IWbemObjectSink **k)
{
	(void)s, (void)f, (void)k;
	SERVICES_LACK(L"QueryObjectSink");
}
static HRESULT WINAPI services_GetObjectAsync(IWbemServices *s, const BSTR p, LONG f, IWbemContext *c, IWbemObjectSink *k)
{
	(void)s, (void)p, (void)f, (void)c, (void)k;
	SERVICES_LACK(L"GetObjectAsync");
}
static HRESULT WINAPI services_PutClass(IWbemServices *s, IWbemClassObject *o, LONG f, IWbemContext *c, IWbemCallResult **r)
{
	(void)s, (void)o, (void)f, (void)c, (void)r;
	SERVICES_LACK(L"PutClass");
}
static HRESULT WINAPI services_PutClassAsync(IWbemServices *s, IWbemClassObject *o, LONG f, IWbemContext *c, IWbemObjectSink *k)
{
	(void)s, (void)o, (void)f, (void)c, (void)k;
	SERVICES_LACK(L"PutClassAsync");
}
static HRESULT WINAPI services_DeleteClass(IWbemServices *s, const BSTR n, LONG f, IWbemContext *c, IWbemCallResult **r)
{
	(void)s, (void)n, (void)f, (void)c, (void)r;
	SERVICES_LACK(L"DeleteClass");
}
static HRESULT WINAPI services_DeleteClassAsync(IWbemServices *s, const BSTR n, LONG f, IWbemContext *c, IWbemObjectSink *k)
{
	(void)s, (void)n, (void)f, (void)c, (void)k;
	SERVICES_LACK(L"DeleteClassAsync");
}
static HRESULT WINAPI services_CreateClassEnum(IWbemServices *s, const BSTR n, LONG f, IWbemContext *c, IEnumWbemClassObject **e)
{
	(void)s, (void)n, (void)f, (void)c, (void)e;
	SERVICES_LACK(L"CreateClassEnum");
}
static HRESULT WINAPI services_CreateClassEnumAsync(IWbemServices *s, const BSTR n, LONG f, IWbemContext *c, IWbemObjectSink *k)
{
	(void)s, (void)n, (void)f, (void)c, (void)k;
	SERVICES_LACK(L"CreateClassEnumAsync");
}
static HRESULT WINAPI services_PutInstanceAsync(IWbemServices *s, IWbemClassObject *o, LONG f, IWbemContext *c,
	IWbemObjectSink *k)
{
	(void)s, (void)o, (void)f, (void)c, (void)k;
	SERVICES_LACK(L"PutInstanceAsync");
}
static HRESULT WINAPI services_DeleteInstanceAsync(IWbemServices *s, const BSTR p, LONG f, IWbemContext *c, IWbemObjectSink *k)
{
	(void)s, (void)p, (void)f, (void)c, (void)k;
	SERVICES_LACK(L"DeleteInstanceAsync");
}
static HRESULT WINAPI services_CreateInstanceEnumAsync(IWbemServices *s, const BSTR n, LONG f, IWbemContext *c,
	IWbemObjectSink *k)
{
	(void)s, (void)n, (void)f, (void)c, (void)k;
	SERVICES_LACK(L"CreateInstanceEnumAsync");
}
static HRESULT WINAPI services_ExecQueryAsync(IWbemServices *s, const BSTR l, const BSTR q, LONG f, IWbemContext *c,
	IWbemObjectSink *k)
{
	(void)s, (void)l, (void)q, (void)f, (void)c, (void)k;
	SERVICES_LACK(L"ExecQueryAsync");
}
static HRESULT WINAPI services_ExecNotificationQuery(IWbemServices *s, const BSTR l, const BSTR q, LONG f, IWbemContext *c,
	IEnumWbemClassObject **e)
{
	(void)s, (void)l, (void)q, (void)f, (void)c, (void)e;
	SERVICES_LACK(L"ExecNotificationQuery");
}
static HRESULT WINAPI services_ExecNotificationQueryAsync(IWbemServices *s, const BSTR l, const BSTR q, LONG f,
	IWbemContext *c, IWbemObjectSink *k)
{
	(void)s, (void)l, (void)q, (void)f, (void)c, (void)k;
	SERVICES_LACK(L"ExecNotificationQueryAsync");
}
static HRESULT WINAPI services_ExecMethodAsync(IWbemServices *s, const BSTR p, const BSTR m, LONG f, IWbemContext *c,
	IWbemClassObject *i, IWbemObjectSink *k)
{
	(void)s, (void)p, (void)m, (void)f, (void)c, (void)i, (void)k;
	SERVICES_LACK(L"ExecMethodAsync");
}

static IWbemServicesVtbl services_vtable = {
	services_QueryInterface,
	services_AddRef,
	services_Release,
	services_OpenNamespace,
	services_CancelAsyncCall,
	services_QueryObjectSink,
	services_GetObject,
	services_GetObjectAsync,
	services_PutClass,
	services_PutClassAsync,
	services_DeleteClass,
	services_DeleteClassAsync,
	services_CreateClassEnum,
	services_CreateClassEnumAsync,
	services_PutInstance,
	services_PutInstanceAsync,
	services_DeleteInstance,
	services_DeleteInstanceAsync,
	services_CreateInstanceEnum,
	services_CreateInstanceEnumAsync,
	services_ExecQuery,
	services_ExecQueryAsync,
	services_ExecNotificationQuery,
	services_ExecNotificationQueryAsync,
	services_ExecMethod,
	services_ExecMethodAsync,
};

IWbemServices *new_services(const wchar_t *space)
{
	struct services *services = calloc(1, sizeof *services);
	services->IWbemServices_iface.lpVtbl = &services_vtable;
	make_security(&services->security, (IUnknown *)&services->IWbemServices_iface);
	services->count = 1;
	_snwprintf(services->space, sizeof services->space / sizeof(wchar_t) - 1, L"%ls", space);
	services->generation = generation();
	apartment_of_caller(L"ConnectServer", &services->apartment);
	InterlockedIncrement(&references);
	return &services->IWbemServices_iface;
}
