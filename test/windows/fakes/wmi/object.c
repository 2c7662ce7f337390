// SPDX-License-Identifier: Apache-2.0
//
// IWbemClassObject: a class, an instance, a method's signature, or parameters made from one. The real object lives in the
// caller's process and may be used from any thread, and so may this one.
// https://learn.microsoft.com/windows/win32/api/wbemcli/nn-wbemcli-iwbemclassobject

#include "wmi.h"

#include <stdio.h>

#define OBJECT_LACKS(function)                                  \
	do {                                                       \
		violation(L"%ls is not part of this fake", function); \
		return WBEM_E_NOT_SUPPORTED;                        \
	} while (0)

static IWbemClassObjectVtbl object_vtable;

struct object *to_object(IWbemClassObject *iface)
{
	return iface && iface->lpVtbl == &object_vtable ? CONTAINING_RECORD(iface, struct object, IWbemClassObject_iface) : NULL;
}

static bool is_definition(const struct object *object)
{
	return object->kind == CLASS_DEFINITION || object->kind == SIGNATURE;
}

static struct field *add_field(struct object *object, const wchar_t *name, CIMTYPE type, bool key)
{
	object->field = realloc(object->field, (object->fields + 1) * sizeof *object->field);
	struct field *field = &object->field[object->fields++];
	memset(field, 0, sizeof *field);
	_snwprintf(field->name, sizeof field->name / sizeof(wchar_t) - 1, L"%ls", name);
	field->type = type;
	field->key = key;
	V_VT(&field->value) = VT_NULL;
	return field;
}

struct object *new_object(enum kind kind, const struct class *class, const struct property *properties)
{
	struct object *object = calloc(1, sizeof *object);
	object->IWbemClassObject_iface.lpVtbl = &object_vtable;
	object->count = 1;
	object->kind = kind;
	object->class = class;
	object->properties = properties;
	object->locatable = kind == CLASS_INSTANCE;
	object->enumeration = -1;
	for (; properties->name; properties++)
		add_field(object, properties->name, properties->type, properties->key);
	InterlockedIncrement(&references);
	return object;
}

struct field *find_field(struct object *object, const wchar_t *name)
{
	for (size_t i = 0; i < object->fields; i++)
		if (_wcsicmp(object->field[i].name, name) == 0)
			return &object->field[i];
	return NULL;
}

// keep_fields drops what a SELECT does not name. Without its keys an instance does not know its path any more, unless the
// caller asked for WBEM_FLAG_ENSURE_LOCATABLE.
void keep_fields(struct object *object, wchar_t (*names)[64], size_t count, bool ensure_locatable)
{
	size_t kept = 0;
	for (size_t i = 0; i < object->fields; i++) {
		bool keep = object->field[i].key && ensure_locatable;
		for (size_t n = 0; n < count; n++)
			keep |= _wcsicmp(names[n], object->field[i].name) == 0;
		if (keep) {
			object->field[kept++] = object->field[i];
			continue;
		}
		object->locatable &= !object->field[i].key;
		VariantClear(&object->field[i].value);
	}
	object->fields = kept;
}

void set_text(struct object *object, const wchar_t *name, const wchar_t *text)
{
	VARIANT *value = &find_field(object, name)->value;
	VariantClear(value);
	V_VT(value) = VT_BSTR;
	V_BSTR(value) = SysAllocString(text);
}

void set_number(struct object *object, const wchar_t *name, DWORD number)
{
	VARIANT *value = &find_field(object, name)->value;
	V_VT(value) = VT_I4;
	V_I4(value) = (LONG)number;
}

void set_flag(struct object *object, const wchar_t *name, bool flag)
{
	VARIANT *value = &find_field(object, name)->value;
	V_VT(value) = VT_BOOL;
	V_BOOL(value) = flag ? VARIANT_TRUE : VARIANT_FALSE;
}

void set_object(struct object *object, const wchar_t *name, struct object *embedded)
{
	VARIANT *value = &find_field(object, name)->value;
	V_VT(value) = VT_UNKNOWN;
	V_UNKNOWN(value) = (IUnknown *)&embedded->IWbemClassObject_iface;
}

const wchar_t *get_text(struct object *object, const wchar_t *name)
{
	struct field *field = find_field(object, name);
	if (!field || V_VT(&field->value) != VT_BSTR)
		return NULL;
	return V_BSTR(&field->value) ? V_BSTR(&field->value) : L""; // a NULL BSTR is an empty one
}

bool get_flag(struct object *object, const wchar_t *name)
{
	struct field *field = find_field(object, name);
	return field && V_VT(&field->value) == VT_BOOL && V_BOOL(&field->value);
}

void append_row(struct rows *rows, struct object *object)
{
	rows->items = realloc(rows->items, (rows->count + 1) * sizeof *rows->items);
	rows->items[rows->count++] = object;
}

void free_rows(struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		IWbemClassObject_Release(&rows->items[i]->IWbemClassObject_iface);
	free(rows->items);
	memset(rows, 0, sizeof *rows);
}

// https://learn.microsoft.com/windows/win32/wmisdk/describing-an-instance-object-path
BSTR relative_path(struct object *object)
{
	wchar_t path[2048];
	size_t length = (size_t)_snwprintf(path, 128, L"%ls", object->class->name);
	const wchar_t *separator = L".";
	for (size_t i = 0; object->kind == CLASS_INSTANCE && i < object->fields; i++) {
		struct field *field = &object->field[i];
		if (!field->key)
			continue;
		length += (size_t)_snwprintf(path + length, 128, L"%ls%ls=\"", separator, field->name);
		const wchar_t *text = V_VT(&field->value) == VT_BSTR && V_BSTR(&field->value) ? V_BSTR(&field->value) : L"";
		for (; *text && length < 2000; text++) {
			if (*text == L'\\' || *text == L'"')
				path[length++] = L'\\';
			path[length++] = *text;
		}
		path[length++] = L'"';
		separator = L",";
	}
	return SysAllocStringLen(path, (UINT)length);
}

static HRESULT WINAPI object_QueryInterface(IWbemClassObject *iface, REFIID id, void **out)
{
	*out = NULL;
	if (!IsEqualIID(id, &IID_IUnknown) && !IsEqualIID(id, &IID_IWbemClassObject))
		return E_NOINTERFACE;
	*out = iface;
	IWbemClassObject_AddRef(iface);
	return S_OK;
}

static ULONG WINAPI object_AddRef(IWbemClassObject *iface)
{
	return InterlockedIncrement(&to_object(iface)->count);
}

static ULONG WINAPI object_Release(IWbemClassObject *iface)
{
	struct object *object = to_object(iface);
	if (!object) {
		violation(L"IWbemClassObject::Release on an object that was released before");
		return 0;
	}
	ULONG count = InterlockedDecrement(&object->count);
	if (count == 0) {
		for (size_t i = 0; i < object->fields; i++)
			VariantClear(&object->field[i].value);
		free(object->field);
		object->IWbemClassObject_iface.lpVtbl = NULL;
		free(object);
		InterlockedDecrement(&references);
	}
	return count;
}

// https://learn.microsoft.com/windows/win32/wmisdk/wmi-system-properties
static HRESULT system_property(struct object *object, const wchar_t *name, VARIANT *value, CIMTYPE *type)
{
	BSTR text = NULL;
	bool is_path = object->class && (object->kind == CLASS_DEFINITION || object->locatable);
	*type = CIM_STRING;
	if (!_wcsicmp(name, L"__GENUS") || !_wcsicmp(name, L"__PROPERTY_COUNT")) {
		*type = CIM_SINT32;
		V_VT(value) = VT_I4;
		V_I4(value) = !_wcsicmp(name, L"__PROPERTY_COUNT") ? (LONG)object->fields : is_definition(object) ? 1 : 2;
		return S_OK;
	}
	if (!_wcsicmp(name, L"__CLASS") || !_wcsicmp(name, L"__DYNASTY")) {
		text = SysAllocString(object->class ? object->class->name : L"__PARAMETERS");
	} else if (!_wcsicmp(name, L"__NAMESPACE")) {
		text = object->class ? SysAllocString(object->class->space) : NULL;
	} else if (!_wcsicmp(name, L"__SERVER")) {
		text = object->class ? SysAllocString(L"NODE") : NULL;
	} else if (!_wcsicmp(name, L"__RELPATH")) {
		text = is_path ? relative_path(object) : NULL;
	} else if (!_wcsicmp(name, L"__PATH")) {
		BSTR relative = is_path ? relative_path(object) : NULL;
		if (relative) {
			wchar_t path[2400];
			_snwprintf(path, sizeof path / sizeof *path, L"\\\\NODE\\%ls:%ls", object->class->space, relative);
			text = SysAllocString(path);
		}
		SysFreeString(relative);
	} else if (_wcsicmp(name, L"__SUPERCLASS")) {
		return WBEM_E_NOT_FOUND;
	}
	V_VT(value) = text ? VT_BSTR : VT_NULL;
	V_BSTR(value) = text;
	return S_OK;
}

static HRESULT get(struct object *object, const wchar_t *name, VARIANT *out, CIMTYPE *type, LONG *flavor)
{
	VARIANT value;
	CIMTYPE found;
	HRESULT result;
	VariantInit(&value);
	if (wcsncmp(name, L"__", 2) == 0) {
		result = system_property(object, name, &value, &found);
	} else {
		struct field *field = find_field(object, name);
		if (!field)
			return WBEM_E_NOT_FOUND;
		found = field->type;
		result = VariantCopy(&value, &field->value);
	}
	if (FAILED(result))
		return result;
	if (type)
		*type = found;
	if (flavor)
		*flavor = wcsncmp(name, L"__", 2) ? WBEM_FLAVOR_ORIGIN_LOCAL : WBEM_FLAVOR_ORIGIN_SYSTEM;
	if (out)
		*out = value; // as VariantInit and an assignment: what was there before is not cleared
	else
		VariantClear(&value);
	return S_OK;
}

// https://learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-iwbemclassobject-get
static HRESULT WINAPI object_Get(IWbemClassObject *iface, LPCWSTR name, LONG flags, VARIANT *value, CIMTYPE *type,
	LONG *flavor)
{
	if (!name || flags) {
		violation(L"Get: the name is NULL or the reserved flags are %ld", flags);
		return WBEM_E_INVALID_PARAMETER;
	}
	HRESULT result = disturbed(L"Get");
	if (SUCCEEDED(result))
		result = get(to_object(iface), name, value, type, flavor);
	if (result == WBEM_E_NOT_FOUND)
		violation(L"Get: there is no property %ls", name);
	return result;
}

// https://learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-iwbemclassobject-put
static HRESULT WINAPI object_Put(IWbemClassObject *iface, LPCWSTR name, LONG flags, VARIANT *value, CIMTYPE type)
{
	struct object *object = to_object(iface);
	if (!name || flags) {
		violation(L"Put: the name is NULL or the reserved flags are %ld", flags);
		return WBEM_E_INVALID_PARAMETER;
	}
	HRESULT result = disturbed(L"Put");
	if (FAILED(result))
		return result;
	if (*name == L'_') {
		violation(L"Put: %ls is a system property or a reserved name", name);
		return WBEM_E_READ_ONLY;
	}
	struct field *field = find_field(object, name);
	if (!field && is_definition(object)) {
		VARTYPE carried = value && V_VT(value) != VT_NULL ? V_VT(value) : VT_ILLEGAL;
		if (!type)
			type = carried == VT_BSTR ? CIM_STRING : carried == VT_BOOL ? CIM_BOOLEAN : carried == VT_I4 ? CIM_SINT32 : 0;
		if (!type)
			return WBEM_E_INVALID_PROPERTY_TYPE;
		field = add_field(object, name, type, false);
		field->added = true;
		return VariantCopy(&field->value, value);
	}
	if (!field) {
		violation(L"Put: an instance has no property %ls, and Put cannot create one", name);
		return WBEM_E_NOT_FOUND;
	}
	if (type && type != field->type) {
		violation(L"Put: %ls is CIM type %ld, not %ld", name, field->type, type);
		return WBEM_E_TYPE_MISMATCH;
	}
	return coerce(name, &field->value, value, field->type);
}

// https://learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-iwbemclassobject-getnames
static HRESULT WINAPI object_GetNames(IWbemClassObject *iface, LPCWSTR qualifier, LONG flags, VARIANT *value,
	SAFEARRAY **names)
{
	struct object *object = to_object(iface);
	(void)value;
	if (qualifier || (flags & ~(WBEM_FLAG_NONSYSTEM_ONLY | WBEM_FLAG_KEYS_ONLY)))
		OBJECT_LACKS(L"GetNames by a qualifier or of system properties");
	*names = SafeArrayCreateVector(VT_BSTR, 0, 0);
	SAFEARRAYBOUND bound = {0, 0};
	for (size_t i = 0; i < object->fields; i++) {
		if ((flags & WBEM_FLAG_KEYS_ONLY) && !object->field[i].key)
			continue;
		LONG index = (LONG)bound.cElements++;
		SafeArrayRedim(*names, &bound);
		BSTR name = SysAllocString(object->field[i].name);
		SafeArrayPutElement(*names, &index, name);
		SysFreeString(name);
	}
	return S_OK;
}

static HRESULT WINAPI object_BeginEnumeration(IWbemClassObject *iface, LONG flags)
{
	struct object *object = to_object(iface);
	if (flags & ~(WBEM_FLAG_NONSYSTEM_ONLY | WBEM_FLAG_KEYS_ONLY))
		OBJECT_LACKS(L"BeginEnumeration of system properties");
	object->cursor = 0;
	object->enumeration = flags;
	return S_OK;
}

// https://learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-iwbemclassobject-next
static HRESULT WINAPI object_Next(IWbemClassObject *iface, LONG flags, BSTR *name, VARIANT *value, CIMTYPE *type,
	LONG *flavor)
{
	struct object *object = to_object(iface);
	if (flags)
		return WBEM_E_INVALID_PARAMETER;
	if (object->enumeration < 0) {
		violation(L"IWbemClassObject::Next without BeginEnumeration");
		return WBEM_E_UNEXPECTED;
	}
	while (object->cursor < object->fields && (object->enumeration & WBEM_FLAG_KEYS_ONLY) &&
	       !object->field[object->cursor].key)
		object->cursor++;
	if (object->cursor == object->fields)
		return WBEM_S_NO_MORE_DATA;
	struct field *field = &object->field[object->cursor++];
	if (name)
		*name = SysAllocString(field->name);
	return get(object, field->name, value, type, flavor);
}

static HRESULT WINAPI object_EndEnumeration(IWbemClassObject *iface)
{
	to_object(iface)->enumeration = -1;
	return S_OK;
}

static HRESULT WINAPI object_Clone(IWbemClassObject *iface, IWbemClassObject **out)
{
	struct object *object = to_object(iface);
	struct object *copy = new_object(object->kind, object->class, object->properties);
	copy->fields = 0;
	for (size_t i = 0; i < object->fields; i++) {
		struct field *from = &object->field[i], *to = add_field(copy, from->name, from->type, from->key);
		to->added = from->added;
		VariantCopy(&to->value, &from->value);
	}
	copy->locatable = object->locatable;
	*out = &copy->IWbemClassObject_iface;
	return S_OK;
}

// https://learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-iwbemclassobject-spawninstance: an instance spawns an
// empty one, too.
static HRESULT WINAPI object_SpawnInstance(IWbemClassObject *iface, LONG flags, IWbemClassObject **out)
{
	struct object *object = to_object(iface);
	if (flags || !out) {
		violation(L"SpawnInstance: the reserved flags are %ld, or there is no pointer for the instance", flags);
		return WBEM_E_INVALID_PARAMETER;
	}
	bool parameters = object->kind == SIGNATURE || object->kind == PARAMETERS;
	struct object *made = new_object(parameters ? PARAMETERS : CLASS_INSTANCE, object->class, object->properties);
	*out = &made->IWbemClassObject_iface;
	return S_OK;
}

static void give_signature(const struct property *properties, IWbemClassObject **out)
{
	if (out)
		*out = properties->name ? &new_object(SIGNATURE, NULL, properties)->IWbemClassObject_iface : NULL;
}

// https://learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-iwbemclassobject-getmethod: of a class alone. A method
// without in-parameters has no signature for them.
static HRESULT WINAPI object_GetMethod(IWbemClassObject *iface, LPCWSTR name, LONG flags, IWbemClassObject **in,
	IWbemClassObject **out)
{
	struct object *object = to_object(iface);
	if (!name || flags)
		return WBEM_E_INVALID_PARAMETER;
	if (object->kind != CLASS_DEFINITION) {
		violation(L"GetMethod %ls on an object that is not a class", name);
		return WBEM_E_ILLEGAL_OPERATION;
	}
	const struct method *method = find_method(object->class, name);
	if (!method) {
		violation(L"GetMethod: %ls has no method %ls", object->class->name, name);
		return WBEM_E_NOT_FOUND;
	}
	give_signature(method->in, in);
	give_signature(method->out, out);
	return S_OK;
}

static HRESULT WINAPI object_GetQualifierSet(IWbemClassObject *o, IWbemQualifierSet **q)
{
	(void)o, (void)q;
	OBJECT_LACKS(L"GetQualifierSet");
}
static HRESULT WINAPI object_Delete(IWbemClassObject *o, LPCWSTR n)
{
	(void)o, (void)n;
	OBJECT_LACKS(L"IWbemClassObject::Delete");
}
static HRESULT WINAPI object_GetPropertyQualifierSet(IWbemClassObject *o, LPCWSTR n, IWbemQualifierSet **q)
{
	(void)o, (void)n, (void)q;
	OBJECT_LACKS(L"GetPropertyQualifierSet");
}
static HRESULT WINAPI object_GetObjectText(IWbemClassObject *o, LONG f, BSTR *t)
{
	(void)o, (void)f, (void)t;
	OBJECT_LACKS(L"GetObjectText");
}
static HRESULT WINAPI object_SpawnDerivedClass(IWbemClassObject *o, LONG f, IWbemClassObject **c)
{
	(void)o, (void)f, (void)c;
	OBJECT_LACKS(L"SpawnDerivedClass");
}
static HRESULT WINAPI object_CompareTo(IWbemClassObject *o, LONG f, IWbemClassObject *other)
{
	(void)o, (void)f, (void)other;
	OBJECT_LACKS(L"CompareTo");
}
static HRESULT WINAPI object_GetPropertyOrigin(IWbemClassObject *o, LPCWSTR n, BSTR *c)
{
	(void)o, (void)n, (void)c;
	OBJECT_LACKS(L"GetPropertyOrigin");
}
static HRESULT WINAPI object_InheritsFrom(IWbemClassObject *o, LPCWSTR a)
{
	(void)o, (void)a;
	OBJECT_LACKS(L"InheritsFrom");
}
static HRESULT WINAPI object_PutMethod(IWbemClassObject *o, LPCWSTR n, LONG f, IWbemClassObject *i, IWbemClassObject *u)
{
	(void)o, (void)n, (void)f, (void)i, (void)u;
	OBJECT_LACKS(L"PutMethod");
}
static HRESULT WINAPI object_DeleteMethod(IWbemClassObject *o, LPCWSTR n)
{
	(void)o, (void)n;
	OBJECT_LACKS(L"DeleteMethod");
}
static HRESULT WINAPI object_BeginMethodEnumeration(IWbemClassObject *o, LONG f)
{
	(void)o, (void)f;
	OBJECT_LACKS(L"BeginMethodEnumeration");
}
static HRESULT WINAPI object_NextMethod(IWbemClassObject *o, LONG f, BSTR *n, IWbemClassObject **i, IWbemClassObject **u)
{
	(void)o, (void)f, (void)n, (void)i, (void)u;
	OBJECT_LACKS(L"NextMethod");
}
static HRESULT WINAPI object_EndMethodEnumeration(IWbemClassObject *o)
{
	(void)o;
	OBJECT_LACKS(L"EndMethodEnumeration");
}
static HRESULT WINAPI object_GetMethodQualifierSet(IWbemClassObject *o, LPCWSTR n, IWbemQualifierSet **q)
{
	(void)o, (void)n, (void)q;
	OBJECT_LACKS(L"GetMethodQualifierSet");
}
static HRESULT WINAPI object_GetMethodOrigin(IWbemClassObject *o, LPCWSTR n, BSTR *c)
{
	(void)o, (void)n, (void)c;
	OBJECT_LACKS(L"GetMethodOrigin");
}

static IWbemClassObjectVtbl object_vtable = {
	object_QueryInterface,
	object_AddRef,
	object_Release,
	object_GetQualifierSet,
	object_Get,
	object_Put,
	object_Delete,
	object_GetNames,
	object_BeginEnumeration,
	object_Next,
	object_EndEnumeration,
	object_GetPropertyQualifierSet,
	object_Clone,
	object_GetObjectText,
	object_SpawnDerivedClass,
	object_SpawnInstance,
	object_CompareTo,
	object_GetPropertyOrigin,
	object_InheritsFrom,
	object_GetMethod,
	object_PutMethod,
	object_DeleteMethod,
	object_BeginMethodEnumeration,
	object_NextMethod,
	object_EndMethodEnumeration,
	object_GetMethodQualifierSet,
	object_GetMethodOrigin,
};
