// SPDX-License-Identifier: Apache-2.0
//
// The provider of MSFT_SmbGlobalMapping. What a mapping's failures are, as far as somebody has posted them:
//   - a path that is there already: "Generic failure", HRESULT 0x80041001 (kubernetes/kubernetes#73087)
//   - a server that cannot be reached: Windows System Error 53 (kubernetes-csi/csi-driver-smb#294)
//   - another user to the same server: Windows System Error 1219 (kubernetes-csi/csi-driver-smb#219)
//   - a path that ends in a backslash: Windows System Error 87 (kubernetes-csi/csi-driver-smb#453)
// The others are the codes of https://learn.microsoft.com/windows/win32/api/winnetwk/nf-winnetwk-wnetaddconnection2w.

#include "wmi.h"

#include <stdio.h>
#include <wctype.h>

#define STATE L"state.txt"
#define TEXT_SIZE 512

struct mapping {
	wchar_t local[TEXT_SIZE], remote[TEXT_SIZE], user[TEXT_SIZE], password[TEXT_SIZE];
	bool persistent, integrity, privacy, write_through;
	wchar_t full_access[TEXT_SIZE], deny_access[TEXT_SIZE];
	unsigned status;
};

static const struct {
	const char *name;
	size_t offset;
	enum { TEXT_FIELD, BOOL_FIELD, NUMBER_FIELD } kind;
} columns[] = {
	{"LocalPath", offsetof(struct mapping, local), TEXT_FIELD},
	{"RemotePath", offsetof(struct mapping, remote), TEXT_FIELD},
	{"UserName", offsetof(struct mapping, user), TEXT_FIELD},
	{"Password", offsetof(struct mapping, password), TEXT_FIELD},
	{"Persistent", offsetof(struct mapping, persistent), BOOL_FIELD},
	{"RequireIntegrity", offsetof(struct mapping, integrity), BOOL_FIELD},
	{"RequirePrivacy", offsetof(struct mapping, privacy), BOOL_FIELD},
	{"UseWriteThrough", offsetof(struct mapping, write_through), BOOL_FIELD},
	{"FullAccess", offsetof(struct mapping, full_access), TEXT_FIELD},
	{"DenyAccess", offsetof(struct mapping, deny_access), TEXT_FIELD},
	{"Status", offsetof(struct mapping, status), NUMBER_FIELD},
};
#define COLUMNS (sizeof columns / sizeof *columns)

struct mappings {
	size_t count;
	struct mapping *items;
};

// The state file holds a line "SmbGlobalMapping" for each mapping, and a line NAME=VALUE for each of its columns.
static struct mappings load(void)
{
	struct mappings mappings = {0};
	char *text = read_file(STATE);
	for (char *line = text, *end; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = 0;
		line[strcspn(line, "\r")] = 0;
		if (strcmp(line, "SmbGlobalMapping") == 0) {
			mappings.items = realloc(mappings.items, ++mappings.count * sizeof *mappings.items);
			memset(&mappings.items[mappings.count - 1], 0, sizeof *mappings.items);
		}
		char *value = strchr(line, '=');
		if (!value || !mappings.count)
			continue;
		*value++ = 0;
		char *to = (char *)&mappings.items[mappings.count - 1];
		for (size_t c = 0; c < COLUMNS; c++) {
			if (strcmp(columns[c].name, line))
				continue;
			if (columns[c].kind == TEXT_FIELD)
				MultiByteToWideChar(CP_UTF8, 0, value, -1, (wchar_t *)(to + columns[c].offset), TEXT_SIZE);
			else if (columns[c].kind == BOOL_FIELD)
				*(bool *)(to + columns[c].offset) = strcmp(value, "true") == 0;
			else
				*(unsigned *)(to + columns[c].offset) = (unsigned)strtoul(value, NULL, 10);
		}
	}
	free(text);
	return mappings;
}

static void save(const struct mappings *mappings)
{
	char *text = calloc(mappings->count * COLUMNS * TEXT_SIZE * 4 + 64, 1), *to = text;
	for (size_t i = 0; i < mappings->count; i++) {
		const char *from = (const char *)&mappings->items[i];
		to += sprintf(to, "SmbGlobalMapping\n");
		for (size_t c = 0; c < COLUMNS; c++) {
			to += sprintf(to, "%s=", columns[c].name);
			if (columns[c].kind == TEXT_FIELD) {
				WideCharToMultiByte(CP_UTF8, 0, (const wchar_t *)(from + columns[c].offset), -1, to, TEXT_SIZE * 3, NULL, NULL);
				to += strlen(to);
			} else if (columns[c].kind == BOOL_FIELD) {
				to += sprintf(to, "%s", *(const bool *)(from + columns[c].offset) ? "true" : "false");
			} else {
				to += sprintf(to, "%u", *(const unsigned *)(from + columns[c].offset));
			}
			*to++ = '\n';
		}
	}
	*to = 0;
	write_file(STATE, text);
	free(text);
}

static struct object *to_instance(const struct mapping *mapping)
{
	const struct class *class = find_class(L"ROOT\\Microsoft\\Windows\\SMB", L"MSFT_SmbGlobalMapping");
	struct object *object = new_object(CLASS_INSTANCE, class, class->properties);
	set_text(object, L"LocalPath", mapping->local);
	set_text(object, L"RemotePath", mapping->remote);
	set_flag(object, L"RequireIntegrity", mapping->integrity);
	set_flag(object, L"RequirePrivacy", mapping->privacy);
	set_flag(object, L"UseWriteThrough", mapping->write_through);
	set_number(object, L"Status", mapping->status);
	return object;
}

void smb_global_mappings(struct rows *rows)
{
	HANDLE lock = lock_files();
	struct mappings mappings = load();
	unlock_files(lock);
	for (size_t i = 0; i < mappings.count; i++)
		append_row(rows, to_instance(&mappings.items[i]));
	free(mappings.items);
}

// Splits a credential as PowerShell's CIM layer makes one of a PSCredential: the user name with a backslash before each
// backslash and colon, a colon, and the password as it is.
// https://github.com/PowerShell/PowerShell/blob/master/src/Microsoft.PowerShell.Commands.Management/cimSupport/cmdletization/cim/cimConverter.cs
static bool split_credential(const wchar_t *credential, wchar_t *user, wchar_t *password)
{
	size_t length = 0;
	for (; *credential && *credential != L':'; credential++) {
		if (*credential == L'\\' && *++credential != L'\\' && *credential != L':') {
			violation(L"Create: in Credential a backslash escapes neither a backslash nor a colon");
			return false;
		}
		if (length < TEXT_SIZE - 1)
			user[length++] = *credential;
	}
	user[length] = 0;
	if (*credential != L':') {
		violation(L"Create: Credential has no colon between user name and password");
		return false;
	}
	_snwprintf(password, TEXT_SIZE - 1, L"%ls", credential + 1);
	return true;
}

// \\SERVER\SHARE[\FOLDER…], without a backslash at the end.
static bool is_remote_path(const wchar_t *path)
{
	if (wcsncmp(path, L"\\\\", 2) || path[2] == L'\\' || wcspbrk(path, L"/?*<>|\""))
		return false;
	const wchar_t *share = wcschr(path + 2, L'\\');
	size_t length = wcslen(path);
	return share && share[1] && share[1] != L'\\' && path[length - 1] != L'\\' && length < TEXT_SIZE;
}

static bool same_server(const wchar_t *one, const wchar_t *other)
{
	size_t length = (size_t)(wcschr(one + 2, L'\\') - one) + 1;
	return _wcsnicmp(one, other, length) == 0;
}

static void join(struct object *in, const wchar_t *name, wchar_t *to)
{
	struct field *field = find_field(in, name);
	if (!field || V_VT(&field->value) != (VT_ARRAY | VT_BSTR))
		return;
	LONG low, high;
	SafeArrayGetLBound(V_ARRAY(&field->value), 1, &low);
	SafeArrayGetUBound(V_ARRAY(&field->value), 1, &high);
	for (size_t length = 0; low <= high; low++) {
		BSTR text;
		SafeArrayGetElement(V_ARRAY(&field->value), &low, &text);
		int wrote = _snwprintf(to + length, TEXT_SIZE - 1 - length, L"%ls%ls", length ? L"," : L"", text);
		SysFreeString(text);
		if (wrote < 0)
			break;
		length += (size_t)wrote;
	}
}

static DWORD connect_to(const struct mapping *mapping)
{
	wchar_t user[TEXT_SIZE] = {0}, password[TEXT_SIZE] = {0};
	bool server_known;
	if (!find_share(mapping->remote, user, password, TEXT_SIZE - 1, &server_known))
		return server_known ? ERROR_BAD_NET_NAME : ERROR_BAD_NETPATH;
	if (*user && (_wcsicmp(user, mapping->user) || wcscmp(password, mapping->password)))
		return ERROR_LOGON_FAILURE;
	return ERROR_SUCCESS;
}

// https://learn.microsoft.com/powershell/module/smbshare/new-smbglobalmapping, and for the parameters schema.c.
HRESULT smb_global_mapping_create(struct object *instance, struct object *in, struct object *out, DWORD *code)
{
	struct mapping mapping = {0};
	const wchar_t *local = get_text(in, L"LocalPath"), *remote = get_text(in, L"RemotePath");
	const wchar_t *credential = get_text(in, L"Credential");
	HRESULT result = S_OK;
	(void)instance;
	*code = ERROR_INVALID_PARAMETER;
	if (!remote)
		violation(L"Create: the required RemotePath is missing");
	if (!remote || !is_remote_path(remote))
		return S_OK;
	if (local && *local && (!iswalpha(local[0]) || wcscmp(local + 1, L":")))
		return S_OK;
	if (credential && !split_credential(credential, mapping.user, mapping.password))
		return S_OK;
	_snwprintf(mapping.local, TEXT_SIZE - 1, L"%ls", local ? local : L"");
	_snwprintf(mapping.remote, TEXT_SIZE - 1, L"%ls", remote);
	mapping.persistent = get_flag(in, L"Persistent");
	mapping.integrity = get_flag(in, L"RequireIntegrity");
	mapping.privacy = get_flag(in, L"RequirePrivacy");
	mapping.write_through = get_flag(in, L"UseWriteThrough");
	join(in, L"FullAccess", mapping.full_access);
	join(in, L"DenyAccess", mapping.deny_access);

	HANDLE lock = lock_files();
	struct mappings mappings = load();
	*code = ERROR_SUCCESS;
	for (size_t i = 0; i < mappings.count && *code == ERROR_SUCCESS && SUCCEEDED(result); i++) {
		struct mapping *other = &mappings.items[i];
		if (_wcsicmp(other->remote, mapping.remote) == 0)
			result = WBEM_E_FAILED;
		else if (*mapping.local && _wcsicmp(other->local, mapping.local) == 0)
			*code = ERROR_ALREADY_ASSIGNED;
		else if (same_server(other->remote, mapping.remote) && _wcsicmp(other->user, mapping.user))
			*code = ERROR_SESSION_CREDENTIAL_CONFLICT; // the client's own rule: the server is not asked
	}
	if (*code == ERROR_SUCCESS && SUCCEEDED(result))
		*code = connect_to(&mapping);
	if (*code == ERROR_SUCCESS && SUCCEEDED(result)) {
		mappings.items = realloc(mappings.items, (mappings.count + 1) * sizeof mapping);
		mappings.items[mappings.count++] = mapping;
		save(&mappings);
		set_object(out, L"CreatedMapping", to_instance(&mapping));
	}
	unlock_files(lock);
	free(mappings.items);
	return result;
}

// https://learn.microsoft.com/powershell/module/smbshare/remove-smbglobalmapping: without Force, a mapping with open files stays:
// ERROR_OPEN_FILES, as https://learn.microsoft.com/windows/win32/api/winnetwk/nf-winnetwk-wnetcancelconnection2w has it.
HRESULT smb_global_mapping_remove(struct object *instance, struct object *in, struct object *out, DWORD *code)
{
	const wchar_t *local = get_text(instance, L"LocalPath"), *remote = get_text(instance, L"RemotePath");
	(void)out;
	if (!get_flag(in, L"Force") && is_open(remote)) {
		*code = ERROR_OPEN_FILES;
		return S_OK;
	}
	HANDLE lock = lock_files();
	struct mappings mappings = load();
	*code = ERROR_NOT_CONNECTED;
	for (size_t i = 0; i < mappings.count; i++) {
		if (_wcsicmp(mappings.items[i].remote, remote) || _wcsicmp(mappings.items[i].local, local))
			continue;
		memmove(&mappings.items[i], &mappings.items[i + 1], (mappings.count - i - 1) * sizeof *mappings.items);
		mappings.count--;
		save(&mappings);
		*code = ERROR_SUCCESS;
		break;
	}
	unlock_files(lock);
	free(mappings.items);
	return S_OK;
}
