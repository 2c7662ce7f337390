// SPDX-License-Identifier: Apache-2.0
//
// Object paths: https://learn.microsoft.com/windows/win32/wmisdk/describing-the-location-of-a-wmi-object and the pages below it.

#include "wmi.h"

#include <wctype.h>

static bool take_name(const wchar_t **text, wchar_t *name, size_t size)
{
	size_t length = 0;
	for (; iswalnum(**text) || **text == L'_'; (*text)++)
		if (length < size - 1)
			name[length++] = **text;
	name[length] = 0;
	return length > 0;
}

// A value is a number, or a string in quotes with \\ and \" for a backslash and a quote.
static bool take_value(const wchar_t **text, struct term *term)
{
	size_t length = 0, size = sizeof term->text / sizeof *term->text;
	wchar_t quote = **text;
	term->quoted = quote == L'"' || quote == L'\'';
	if (term->quoted) {
		for ((*text)++; **text && **text != quote; (*text)++) {
			if (**text == L'\\') {
				(*text)++;
				if (**text != L'\\' && **text != L'"' && **text != L'\'')
					return false;
			}
			if (length < size - 1)
				term->text[length++] = **text;
		}
		if (*(*text)++ != quote)
			return false;
	} else {
		for (; iswalnum(**text) || **text == L'-'; (*text)++)
			if (length < size - 1)
				term->text[length++] = **text;
		if (!length)
			return false;
	}
	term->text[length] = 0;
	return true;
}

HRESULT parse_path(const wchar_t *space, const wchar_t *text, struct path *path)
{
	const wchar_t *rest = text, *end = text + wcscspn(text, L"=\""), *colon = wcschr(text, L':');
	memset(path, 0, sizeof *path);
	if (colon && colon < end) {
		// [\\SERVER\]NAMESPACE:… must be the one that this connection is to.
		const wchar_t *named = text;
		if (wcsncmp(named, L"\\\\", 2) == 0) {
			named = wcschr(named + 2, L'\\');
			if (!named++)
				goto invalid;
		}
		if ((size_t)(colon - named) != wcslen(space) || _wcsnicmp(named, space, wcslen(space)))
			goto invalid;
		rest = colon + 1;
	}
	if (!take_name(&rest, path->class, sizeof path->class / sizeof(wchar_t)))
		goto invalid;
	if (wcscmp(rest, L"=@") == 0) {
		path->singleton = true;
		return S_OK;
	}
	if (!*rest)
		return S_OK;
	bool named = *rest == L'.';
	do {
		struct term *key = &path->key[path->keys];
		if (path->keys++ == MAX_TERMS)
			goto invalid;
		rest += named || path->keys > 1; // the dot or the comma
		if (named && !take_name(&rest, key->name, sizeof key->name / sizeof(wchar_t)))
			goto invalid;
		if (*rest++ != L'=' || !take_value(&rest, key))
			goto invalid;
	} while (*rest == L',' && named);
	if (!*rest)
		return S_OK;
invalid:
	violation(L"the object path is malformed or of another namespace: %ls", text);
	return WBEM_E_INVALID_OBJECT_PATH;
}

// Compares a property with a constant of a path or a query: strings ignore case, and the constant must be of the
// property's type. https://learn.microsoft.com/windows/win32/wmisdk/where-clause
bool equal(const struct field *field, const struct term *term, HRESULT *problem)
{
	VARIANT constant, value;
	bool wants_text = automation_type(field->type) == VT_BSTR && field->type != CIM_UINT64;
	if (wants_text != term->quoted) {
		violation(L"%ls is compared with a constant of another type: %ls", field->name, term->text);
		*problem = WBEM_E_INVALID_QUERY;
		return false;
	}
	VariantInit(&value);
	V_VT(&constant) = VT_BSTR;
	V_BSTR(&constant) = SysAllocString(!_wcsicmp(term->text, L"TRUE") ? L"-1" : !_wcsicmp(term->text, L"FALSE") ? L"0" :
		term->text);
	if (field->type == CIM_BOOLEAN && !wcscmp(term->text, L"1")) {
		SysFreeString(V_BSTR(&constant));
		V_BSTR(&constant) = SysAllocString(L"-1");
	}
	bool same = false;
	if (V_VT(&field->value) == VT_BOOL) {
		same = V_BOOL(&field->value) == (wcscmp(V_BSTR(&constant), L"-1") == 0 ? VARIANT_TRUE : VARIANT_FALSE);
	} else if (V_VT(&field->value) != VT_NULL && SUCCEEDED(VariantChangeType(&value, (VARIANT *)&field->value, 0, VT_BSTR))) {
		same = _wcsicmp(V_BSTR(&value) ? V_BSTR(&value) : L"", V_BSTR(&constant)) == 0;
	}
	VariantClear(&value);
	VariantClear(&constant);
	return same;
}

// Finds the instance that a path names. Every key must be given, in any order; a class with one key may leave out its name.
HRESULT find_instance(const struct class *class, const struct path *path, struct object **instance)
{
	size_t keys = 0;
	for (const struct property *property = class->properties; property->name; property++)
		keys += property->key;
	if (!class->instances || path->singleton || keys != path->keys) {
		violation(L"a path of %ls has %u keys; the class has %u", class->name, (unsigned)path->keys, (unsigned)keys);
		return WBEM_E_INVALID_OBJECT_PATH;
	}
	struct rows rows = {0};
	HRESULT result = WBEM_E_NOT_FOUND;
	class->instances(&rows);
	for (size_t i = 0; i < rows.count && result == WBEM_E_NOT_FOUND; i++) {
		bool all = true;
		for (size_t k = 0; k < path->keys && all; k++) {
			const wchar_t *name = path->key[k].name;
			struct field *field = NULL;
			for (size_t f = 0; f < rows.items[i]->fields && !field; f++)
				if (rows.items[i]->field[f].key && (!*name || !_wcsicmp(rows.items[i]->field[f].name, name)))
					field = &rows.items[i]->field[f];
			if (!field) {
				violation(L"a path of %ls names %ls, which is not a key", class->name, name);
				result = WBEM_E_INVALID_OBJECT_PATH;
				all = false;
			} else {
				all = equal(field, &path->key[k], &result);
			}
		}
		if (all) {
			*instance = rows.items[i];
			IWbemClassObject_AddRef(&(*instance)->IWbemClassObject_iface);
			result = S_OK;
		}
	}
	free_rows(&rows);
	return result;
}
