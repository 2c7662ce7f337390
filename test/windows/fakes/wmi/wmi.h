// SPDX-License-Identifier: Apache-2.0
//
// A fake of the part of Windows Management Instrumentation that a client reaches through CLSID_WbemLocator, as an
// in-process COM server. ../README.md says what it is for, which files it reads and writes, and what it refuses.
//
// Sources: the pages of https://learn.microsoft.com/windows/win32/api/wbemcli/ and
// https://learn.microsoft.com/windows/win32/wmisdk/ that the comments name, and mingw-w64's wbemcli.h.

#ifndef FAKE_WMI_H
#define FAKE_WMI_H

#define COBJMACROS
#include <windows.h>

#include <ole2.h>
#include <stdbool.h>
#include <wbemcli.h>

#include "../harness/control.h"

// The references to live objects and locks of the server; 0 lets COM unload the DLL.
extern LONG references;

// control.c: the files beside the DLL.
void set_directory(HINSTANCE dll);
HANDLE lock_files(void);
void unlock_files(HANDLE lock);
char *read_file(const wchar_t *name);
void write_file(const wchar_t *name, const char *text);
void read_control(CONTROL *control);
void record(const wchar_t *format, ...);
void violation(const wchar_t *format, ...);

// fault.c: what the control file orders. A wait is a call that may not be complete yet.
struct wait {
	const wchar_t *call;
	ULONGLONG ready; // on GetTickCount64's clock
	bool hung;       // until the control file has no such line any more
};
HRESULT disturb(const wchar_t *call, struct wait *wait);
HRESULT wait_for(struct wait *wait, LONG timeout);
HRESULT disturbed(const wchar_t *call);
unsigned long generation(void);
bool service_lost(void);
DWORD ordered_error(const wchar_t *method);
enum failures { FAILURE_HRESULT, FAILURE_RETURN, FAILURE_WBEM };
enum failures failures(void);
bool find_share(const wchar_t *path, wchar_t *user, wchar_t *password, size_t size, bool *server_known);
bool is_open(const wchar_t *path);
void each_fact(const char *kind, void (*visit)(wchar_t **words, int count, void *argument), void *argument);

// value.c: CIM types and VARIANTs.
const wchar_t *cim_name(CIMTYPE type);
VARTYPE automation_type(CIMTYPE type);
HRESULT coerce(const wchar_t *name, VARIANT *to, const VARIANT *from, CIMTYPE type);
bool is_bstr(const wchar_t *function, const wchar_t *parameter, const wchar_t *text);

// schema.c: the classes.
struct property {
	const wchar_t *name;
	CIMTYPE type;
	bool key;
};
struct object;
struct rows {
	size_t count;
	struct object **items;
};
struct method {
	const wchar_t *name;
	bool is_static;
	const struct property *in, *out; // ended by a property without a name
	// Runs the method. A code other than ERROR_SUCCESS is a failure, which the caller gets in the ordered form.
	HRESULT (*run)(struct object *instance, struct object *in, struct object *out, DWORD *code);
};
struct class {
	const wchar_t *space, *name;
	const struct property *properties;
	const struct method *methods;
	void (*instances)(struct rows *rows); // NULL: the class has none
};
extern const struct class *const classes[];
bool is_namespace(const wchar_t *space);
const struct class *find_class(const wchar_t *space, const wchar_t *name);
const struct method *find_method(const struct class *class, const wchar_t *name);

// object.c: IWbemClassObject.
enum kind { CLASS_DEFINITION, CLASS_INSTANCE, SIGNATURE, PARAMETERS };
struct field {
	wchar_t name[64];
	CIMTYPE type;
	bool key;
	bool added; // by the caller, to a signature
	VARIANT value;
};
struct object {
	IWbemClassObject IWbemClassObject_iface;
	LONG count;
	enum kind kind;
	const struct class *class;         // NULL for a signature and for parameters
	const struct property *properties; // what the object was made with
	bool locatable;                    // has its key properties, so it knows its path
	size_t fields, cursor;
	LONG enumeration; // its flags, or -1
	struct field *field;
};
struct object *new_object(enum kind kind, const struct class *class, const struct property *properties);
struct object *to_object(IWbemClassObject *iface);
struct field *find_field(struct object *object, const wchar_t *name);
void keep_fields(struct object *object, wchar_t (*names)[64], size_t count, bool ensure_locatable);
void set_text(struct object *object, const wchar_t *name, const wchar_t *text);
void set_number(struct object *object, const wchar_t *name, DWORD number);
void set_flag(struct object *object, const wchar_t *name, bool flag);
void set_object(struct object *object, const wchar_t *name, struct object *value);
const wchar_t *get_text(struct object *object, const wchar_t *name); // NULL for no value
bool get_flag(struct object *object, const wchar_t *name);
BSTR relative_path(struct object *object);
void append_row(struct rows *rows, struct object *object);
void free_rows(struct rows *rows);

// path.c and query.c
#define MAX_TERMS 8
struct term {
	wchar_t name[64], text[1024];
	bool quoted, unequal;
};
struct path {
	wchar_t class[64];
	bool singleton;
	size_t keys;
	struct term key[MAX_TERMS]; // the name is empty where the path leaves it out
};
struct query {
	wchar_t class[64];
	size_t columns; // 0: all
	wchar_t column[16][64];
	size_t terms;
	struct term term[MAX_TERMS];
};
HRESULT parse_path(const wchar_t *space, const wchar_t *text, struct path *path);
HRESULT parse_query(const wchar_t *text, struct query *query);
HRESULT run_query(const wchar_t *space, const struct query *query, bool ensure_locatable, struct rows *rows);
HRESULT find_instance(const struct class *class, const struct path *path, struct object **instance);
bool equal(const struct field *field, const struct term *term, HRESULT *problem);

// locator.c, proxy.c, services.c, enumerator.c, result.c
HRESULT new_locator(REFIID id, void **out);
HRESULT new_script_locator(REFIID id, void **out); // scripting.c
struct apartment {
	bool known;
	APTTYPE type;
	DWORD thread;
};
// Any proxy has this interface: CoSetProxyBlanket asks for it.
struct security {
	IClientSecurity IClientSecurity_iface;
	IUnknown *owner;
	DWORD impersonation; // 0: no blanket was set
};
void make_security(struct security *security, IUnknown *owner);
struct services {
	IWbemServices IWbemServices_iface;
	struct security security;
	LONG count;
	wchar_t space[128];
	unsigned long generation;
	struct apartment apartment;
};
IWbemServices *new_services(const wchar_t *space);
HRESULT apartment_of_caller(const wchar_t *call, struct apartment *apartment);
HRESULT in_apartment(const wchar_t *call, const struct apartment *home);
IEnumWbemClassObject *new_enumerator(struct services *services, LONG flags, const struct wait *wait, HRESULT failure,
	struct rows *rows);
IWbemCallResult *new_result(const struct wait *wait, LONG status, IWbemClassObject *object);

// smb.c, storage.c: what the providers of the classes do.
void smb_global_mappings(struct rows *rows);
HRESULT smb_global_mapping_create(struct object *instance, struct object *in, struct object *out, DWORD *code);
HRESULT smb_global_mapping_remove(struct object *instance, struct object *in, struct object *out, DWORD *code);
void volumes(struct rows *rows);
void partitions(struct rows *rows);
HRESULT volume_format(struct object *instance, struct object *in, struct object *out, DWORD *code);
HRESULT partition_resize(struct object *instance, struct object *in, struct object *out, DWORD *code);
HRESULT storage_setting_get(struct object *instance, struct object *in, struct object *out, DWORD *code);
HRESULT storage_setting_set(struct object *instance, struct object *in, struct object *out, DWORD *code);
HRESULT storage_setting_update(struct object *instance, struct object *in, struct object *out, DWORD *code);

// failure.c: how a provider's failure reaches the caller.
HRESULT deliver(const struct class *class, DWORD code, struct object *out);

#endif
