// SPDX-License-Identifier: Apache-2.0
//
// CIM types and the VARIANTs that carry them.

#include "wmi.h"

const wchar_t *cim_name(CIMTYPE type)
{
	switch (type & ~CIM_FLAG_ARRAY) {
	case CIM_CHAR16: return L"char16";
	case CIM_UINT16: return L"uint16";
	case CIM_UINT32: return L"uint32";
	case CIM_UINT64: return L"uint64";
	case CIM_BOOLEAN: return L"boolean";
	case CIM_STRING: return L"string";
	case CIM_OBJECT: return L"object";
	}
	return L"?";
}

// The Automation type of each CIM type: https://learn.microsoft.com/windows/win32/wmisdk/numbers for the numbers. uint16
// and uint32 travel as VT_I4, 64-bit integers as strings.
VARTYPE automation_type(CIMTYPE type)
{
	VARTYPE array = type & CIM_FLAG_ARRAY ? VT_ARRAY : 0;
	switch (type & ~CIM_FLAG_ARRAY) {
	case CIM_CHAR16: return VT_I2 | array; // .../wmisdk/cim-type-qualifier
	case CIM_UINT16:
	case CIM_UINT32: return VT_I4 | array;
	case CIM_UINT64:
	case CIM_STRING: return VT_BSTR | array;
	case CIM_BOOLEAN: return VT_BOOL | array;
	case CIM_OBJECT: return VT_UNKNOWN | array;
	}
	return VT_ILLEGAL;
}

static bool is_decimal(const wchar_t *text)
{
	size_t digits = 0;
	for (; text && text[digits]; digits++)
		if (text[digits] < L'0' || text[digits] > L'9')
			return false;
	return digits > 0;
}

// coerce copies a value into a property of a type, as
// https://learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-iwbemclassobject-put says: by the normal rules of
// Automation with its exceptions for uint32, and WBEM_E_TYPE_MISMATCH where they do not lead to the type. What needed a
// conversion is written down, because a caller that relies on one has probably got the type wrong.
HRESULT coerce(const wchar_t *name, VARIANT *to, const VARIANT *from, CIMTYPE type)
{
	VARTYPE wanted = automation_type(type);
	HRESULT result = S_OK;
	VARIANT value;
	VariantInit(&value);
	if (!from || V_VT(from) == VT_NULL) {
		V_VT(&value) = VT_NULL;
	} else if (V_VT(from) == wanted || (wanted & VT_ARRAY && V_VT(from) == (VT_ARRAY | VT_VARIANT))) {
		// The page allows VT_ARRAY|VT_VARIANT for an empty array alone.
		LONG low = 0, high = -1;
		if (V_VT(from) != wanted) {
			SafeArrayGetLBound(V_ARRAY(from), 1, &low);
			SafeArrayGetUBound(V_ARRAY(from), 1, &high);
		}
		result = high >= low ? WBEM_E_TYPE_MISMATCH : VariantCopy(&value, (VARIANT *)from);
	} else if (wanted & VT_ARRAY || V_VT(from) & VT_ARRAY || wanted == VT_UNKNOWN ||
		   (type == CIM_UINT32 && V_VT(from) == VT_I2)) {
		result = WBEM_E_TYPE_MISMATCH;
	} else {
		result = VariantChangeType(&value, (VARIANT *)from, 0, wanted);
		if (SUCCEEDED(result))
			violation(L"coerced: %ls is %ls, which is VARIANT type %d, and got type %d", name, cim_name(type), wanted,
				V_VT(from));
		else
			result = WBEM_E_TYPE_MISMATCH;
	}
	if (SUCCEEDED(result) && type == CIM_UINT64 && V_VT(&value) == VT_BSTR && !is_decimal(V_BSTR(&value)))
		result = WBEM_E_TYPE_MISMATCH;
	if (SUCCEEDED(result) && type == CIM_UINT16 && V_VT(&value) == VT_I4 && (V_I4(&value) < 0 || V_I4(&value) > 0xffff))
		result = WBEM_E_TYPE_MISMATCH;
	// VARIANT_BOOL: https://learn.microsoft.com/openspecs/windows_protocols/ms-oaut, 2.2.27: 0xFFFF or 0, nothing else.
	if (SUCCEEDED(result) && V_VT(&value) == VT_BOOL && V_BOOL(&value) != VARIANT_TRUE && V_BOOL(&value) != VARIANT_FALSE)
		violation(L"%ls: a VARIANT_BOOL is %d, not 0 or -1", name, V_BOOL(&value));
	if (SUCCEEDED(result) && V_VT(from ? from : &value) == VT_BSTR)
		is_bstr(L"Put", name, V_BSTR(from));
	if (FAILED(result)) {
		VariantClear(&value);
		violation(L"%ls is %ls, VARIANT type %d; a value of VARIANT type %d does not fit", name, cim_name(type), wanted,
			from ? V_VT(from) : 0);
		return result;
	}
	VariantClear(to);
	*to = value;
	return S_OK;
}

// is_bstr reports whether a parameter that the documentation calls a BSTR has a BSTR's length in front of its text. A
// pointer to plain characters has none, and crashes or confuses the real, marshalled interface.
bool is_bstr(const wchar_t *function, const wchar_t *parameter, const wchar_t *text)
{
	if (!text || SysStringLen((BSTR)text) == wcslen(text))
		return true;
	violation(L"%ls: %ls is no BSTR: the length in front of it is %u, that of its text %u", function, parameter,
		SysStringLen((BSTR)text), (unsigned)wcslen(text));
	return false;
}
