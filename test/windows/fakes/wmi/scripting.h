// SPDX-License-Identifier: Apache-2.0
//
// The scripting objects in front of the interfaces of wbemcli.h.

#ifndef FAKE_WMI_SCRIPTING_H
#define FAKE_WMI_SCRIPTING_H

#include "wmi.h"

#define MOST_ARGUMENTS 8
struct script {
	IDispatch IDispatch_iface;
	LONG count;
	const struct script_class *class;
	IUnknown *inner;         // the IWbemLocator, IWbemServices, … behind it
	IWbemServices *services; // the connection that it came from
	struct apartment apartment;
	wchar_t method[64]; // of a SWbemMethod
};
struct member {
	const wchar_t *name;
	WORD kind; // DISPATCH_METHOD or DISPATCH_PROPERTYGET
	UINT least, most;
	HRESULT (*call)(struct script *script, VARIANT *arguments, UINT count, VARIANT *result);
};
struct script_class {
	const wchar_t *name;
	bool has_properties; // those of the IWbemClassObject behind it
	const struct member *members;
};
extern const struct script_class object_script;
struct script *to_script(IDispatch *iface);
struct script *new_script(const struct script_class *class, IUnknown *inner, IWbemServices *services);
HRESULT give_script(struct script *script, VARIANT *result);
HRESULT new_variant_enumerator(IEnumWbemClassObject *inner, IWbemServices *services, VARIANT *result);

#endif
