// SPDX-License-Identifier: Apache-2.0
//
// A fake iscsidsc.dll for tests under Wine: what its functions share. ../README.md describes its files and its control
// lines. Each exported function runs between enter and leave, holds the lock of all processes in between, and refuses
// what Microsoft's page forbids with refuse, which also records the violation.
#ifndef FAKE_ISCSIDSC_FAKE_H
#define FAKE_ISCSIDSC_FAKE_H

#include "../harness/control.h"
#include "api.h"

#define INSTANCE L"ROOT\\ISCSIPRT\\0000_0" // the name of Windows' software initiator's first instance
#define MAX_LIST 64
#define MAX_CONNECTIONS 8
#define MAX_LUNS 32
#define MAX_SECRET 255

// OPTIONS are login options whose user name and password are kept here.
typedef struct {
	ISCSI_LOGIN_OPTIONS fixed;
	UCHAR user[MAX_SECRET + 1];
	UCHAR secret[MAX_SECRET + 1];
} OPTIONS;

typedef struct {
	BOOL used;
	WCHAR instance[MAX_ISCSI_HBANAME_LEN];
	ULONG port;
	ISCSI_TARGET_PORTALW portal;
	ULONGLONG security;
	OPTIONS options;
} PORTAL;

// A DISCOVERY is a target as one mechanism found it: a SendTargets portal (found) or, without one, a static target.
typedef struct {
	BOOL used;
	WCHAR target[MAX_ISCSI_NAME_LEN + 1];
	WCHAR alias[MAX_ISCSI_ALIAS_LEN + 1];
	ULONG flags;
	BOOL is_static;
	ISCSI_TARGET_PORTALW found;
	ISCSI_TARGET_PORTALW portal; // of the target; no address: none is known
} DISCOVERY;

typedef struct {
	ULONGLONG id;
	ISCSI_TARGET_PORTALW portal;
} CONNECTION;

typedef struct {
	BOOL used;
	ULONGLONG id;
	WCHAR target[MAX_ISCSI_NAME_LEN + 1];
	BOOL informational;
	ULONG connections;
	CONNECTION connection[MAX_CONNECTIONS];
	ULONG asked; // calls of GetDevicesForIScsiSession
} SESSION;

typedef struct {
	BOOL used;
	WCHAR target[MAX_ISCSI_NAME_LEN + 1];
	BOOLEAN informational;
	WCHAR instance[MAX_ISCSI_HBANAME_LEN];
	ULONG port;
	ISCSI_TARGET_PORTALW portal;
	ULONGLONG security;
	OPTIONS options;
} LOGIN;

// STATE is what the initiator service knows. It is the whole file state.bin, mapped by every process.
typedef struct {
	ULONGLONG next_id;
	PORTAL portals[MAX_LIST];
	DISCOVERY discoveries[MAX_LIST];
	SESSION sessions[MAX_LIST];
	LOGIN logins[MAX_LIST];
	WCHAR devices[MAX_LIST][MAX_PATH]; // persistently bound
	WCHAR node[MAX_ISCSI_NAME_LEN + 1];
	ULONG secret_length;
	UCHAR secret[MAX_SECRET];
} STATE;

typedef struct {
	const char *function;
	STATE *state;
	CONTROL control;
	ISDSC_STATUS status; // of enter that failed
} CALL;

// call.c
BOOL enter(CALL *call, const char *function);
ISDSC_STATUS leave(CALL *call, ISDSC_STATUS status, const char *format, ...);
ISDSC_STATUS refuse(CALL *call, ISDSC_STATUS status, const char *format, ...);
BOOL is_readable(const void *memory, SIZE_T size);
BOOL is_writable(void *memory, SIZE_T size);

// control.c
// line_about returns the next line after another with a keyword and an argument in any case of letters, as iSCSI names are compared.
LINE *line_about(const CALL *call, const LINE *after, const char *keyword, const WCHAR *first);
ULONG answer_to(CALL *call, const char *keyword); // 0: none
void control_events(CALL *call);
ULONG number(const char *word);

// arguments.c
ISDSC_STATUS check_name(CALL *call, const WCHAR *name, const char *parameter);
ISDSC_STATUS check_initiator(CALL *call, const WCHAR *instance, ULONG port);
ISDSC_STATUS check_portal(CALL *call, const ISCSI_TARGET_PORTALW *portal, const char *parameter);
ISDSC_STATUS check_security(CALL *call, ULONGLONG flags);
ISDSC_STATUS check_options(CALL *call, const ISCSI_LOGIN_OPTIONS *options, OPTIONS *kept);
ISDSC_STATUS check_key(CALL *call, ULONG size, const char *key);
BOOL same_portal(const ISCSI_TARGET_PORTALW *a, const ISCSI_TARGET_PORTALW *b);
UCHAR *put_user(const OPTIONS *kept, ISCSI_LOGIN_OPTIONS *options, UCHAR *place);

// portals.c, targets.c, sessions.c
PORTAL *portal_add(CALL *call, const WCHAR *instance, ULONG port, const ISCSI_TARGET_PORTALW *wanted);
LOGIN *login_add(CALL *call, const WCHAR *target, const ISCSI_TARGET_PORTALW *portal);
ISDSC_STATUS discover(CALL *call, const PORTAL *portal);
BOOL portal_serves(const CALL *call, const ISCSI_TARGET_PORTALW *portal, const WCHAR *target);
ISDSC_STATUS portal_answers(const CALL *call, const ISCSI_TARGET_PORTALW *portal);
DISCOVERY *discovered(STATE *state, const WCHAR *target);
ISDSC_STATUS authenticate(const CALL *call, const char *keyword, const WCHAR *key, const OPTIONS *options, ULONGLONG security);
ISCSI_UNIQUE_ID unique(ULONGLONG id);
BOOL is_unique(const ISCSI_UNIQUE_ID *id, ULONGLONG wanted);
SESSION *session_new(STATE *state, const WCHAR *target, const ISCSI_TARGET_PORTALW *portal);
SESSION *session_find(CALL *call, const ISCSI_UNIQUE_ID *id, ISDSC_STATUS *status);
void node_name(const STATE *state, WCHAR name[MAX_ISCSI_NAME_LEN + 1]);

// Each exported function begins with ENTER and ends with leave.
#define API __declspec(dllexport) ISDSC_STATUS WINAPI
#define ENTER(call, name)                                                                                              \
	CALL call;                                                                                                         \
	if (!enter(&(call), name))                                                                                         \
		return (call).status
#define FOR_LIST(item, list) for (item = (list); item < (list) + MAX_LIST; item++)

#endif
