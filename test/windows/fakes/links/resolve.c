// SPDX-License-Identifier: Apache-2.0

// Where a path leads: the walk that Windows' object manager and NTFS make together, over the node's files.

#include "links.h"

// A walk is a path on the way to its end.
struct walk {
	HANDLE root; // NULL: the text is absolute
	size_t length;
	WCHAR text[PATH_MOST];
};

static BOOL starts_with(const WCHAR *text, size_t length, const WCHAR *start)
{
	size_t n = wcslen(start);
	return length >= n && !_wcsnicmp(text, start, n);
}

// set makes the path of up to three parts. It returns FALSE if that is too long.
static BOOL set(struct walk *w, const WCHAR *a, size_t na, const WCHAR *b, size_t nb, const WCHAR *c, size_t nc)
{
	WCHAR made[PATH_MOST];
	if (na + nb + nc >= PATH_MOST)
		return FALSE;
	memcpy(made, a, na * sizeof *a);
	memcpy(made + na, b, nb * sizeof *b);
	memcpy(made + na + nb, c, nc * sizeof *c);
	w->length = na + nb + nc;
	memcpy(w->text, made, w->length * sizeof *made);
	return TRUE;
}

static void attributes_of(OBJECT_ATTRIBUTES *attributes, UNICODE_STRING *name, WCHAR *path)
{
	name->Buffer = path;
	name->Length = name->MaximumLength = (USHORT)(wcslen(path) * sizeof *path);
	InitializeObjectAttributes(attributes, name, OBJ_CASE_INSENSITIVE, NULL, NULL);
}

// files_of writes where the files of a volume are: in the directory of its disk, one of base. The node makes it before it
// mounts a volume.
static BOOL files_of(WCHAR *base, size_t most, const WCHAR *guid, size_t guid_length)
{
	const ULONG share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
	enum { NAMES = 12 }; // FileNamesInformation
	struct entry {
		ULONG next, index, size;
		WCHAR name[MAX_PATH];
	} e;
	OBJECT_ATTRIBUTES attributes;
	UNICODE_STRING name;
	IO_STATUS_BLOCK status;
	BYTE information[40]; // FILE_BASIC_INFORMATION
	BOOL found = FALSE;
	HANDLE disks;
	attributes_of(&attributes, &name, base);
	if (old_open(&disks, FILE_LIST_DIRECTORY | SYNCHRONIZE, &attributes, &status, share, FILE_DIRECTORY_FILE | FILE_SYNCHRONOUS_IO_NONALERT) < 0)
		return FALSE;
	const size_t n = wcslen(base);
	for (BOOLEAN restart = TRUE; !found && old_list(disks, NULL, NULL, NULL, &status, &e, sizeof e, NAMES, TRUE, NULL, restart) >= 0; restart = FALSE) {
		if (_snwprintf(base + n, most - n, L"\\%.*ls\\volumes\\%.*ls", (int)(e.size / sizeof *e.name), e.name, (int)guid_length, guid) < 0)
			break;
		attributes_of(&attributes, &name, base);
		found = old_attributes(&attributes, information) >= 0;
	}
	NtClose(disks);
	return found;
}

// enter goes from the name of a share or of a volume to the directory of its files in the node's state directory.
static BOOL enter(struct walk *w)
{
	static const WCHAR unc[] = L"\\??\\UNC\\", volume[] = L"\\??\\Volume{", shares[] = L"\\shares\\", disks[] = L"\\disks";
	enum { GUID_LENGTH = 36 };
	WCHAR base[2 * MAX_PATH];
	if (w->root || !*node_files) // the names of a machine's own volumes are other hands'
		return TRUE;
	wcscpy(base, node_files);
	if (starts_with(w->text, w->length, unc)) {
		wcscat(base, shares);
		const size_t n = ARRAYSIZE(unc) - 1;
		return set(w, base, wcslen(base), w->text + n, w->length - n, NULL, 0);
	}
	const size_t n = ARRAYSIZE(volume) - 1;
	if (starts_with(w->text, w->length, volume) && w->length > n + GUID_LENGTH) {
		wcscat(base, disks);
		size_t rest = n + GUID_LENGTH + 1;
		return files_of(base, ARRAYSIZE(base), w->text + n, GUID_LENGTH) && set(w, base, wcslen(base), w->text + rest, w->length - rest, NULL, 0);
	}
	return TRUE;
}

// first returns where the first name of the path begins that can be a link.
static size_t first(const struct walk *w)
{
	static const WCHAR volume[] = L"\\??\\Volume{";
	enum { REST = 38 }; // of the GUID: 36, a brace and a separator
	if (w->root)
		return 0;
	if (!*node_files && starts_with(w->text, w->length, L"\\??\\UNC\\"))
		return w->length; // a share's links are its server's
	if (!*node_files && starts_with(w->text, w->length, volume))
		return ARRAYSIZE(volume) - 1 + REST;
	if (*node_files && starts_with(w->text, w->length, node_files)) // the state directory and what leads to a volume's files are no links
		return wcslen(node_files) + 1;
	return wcslen(L"\\??\\C:\\");
}

// is_ours reports whether the node's files can be on the path. Windows' own directory is Wine's, and the fakes' folders are their own.
static BOOL is_ours(const struct walk *w)
{
	if (!*node_files && (starts_with(w->text, w->length, L"\\??\\UNC\\") || starts_with(w->text, w->length, L"\\??\\C:\\disks-fake")))
		return FALSE;
	return w->root || (*node_files && starts_with(w->text, w->length, node_files)) || starts_with(w->text, w->length, L"\\??\\UNC\\") || starts_with(w->text, w->length, L"\\??\\Volume{") ||
	       (starts_with(w->text, w->length, L"\\??\\C:\\") && !starts_with(w->text, w->length, L"\\??\\C:\\windows"));
}

static USHORT number(const BYTE *at) { return at[0] | at[1] << 8; }

// climb puts a relative target behind the directory that a path's first end characters name, and takes back a name for each "..".
static BOOL climb(struct walk *w, size_t end, const WCHAR *target, size_t length, const WCHAR *rest, size_t rest_length)
{
	while (end > 0 && w->text[end - 1] != '\\') // the link's own name
		end--;
	for (; starts_with(target, length, L"..\\") && end > first(w); target += 3, length -= 3)
		for (end--; end > 0 && w->text[end - 1] != '\\'; end--)
			;
	return set(w, w->text, end, target, length, rest, rest_length);
}

// follow_link replaces the first end characters of the path, which are a link, by its target.
static BOOL follow_link(struct walk *w, size_t end, const struct link *l)
{
	const BOOL symbolic = *(const ULONG *)l->data == IO_REPARSE_TAG_SYMLINK;
	const ULONG names = symbolic ? 20 : 16;
	const ULONG at = names + number(l->data + 8), size = number(l->data + 10);
	if (l->size < names || at + size > l->size || at % 2)
		return FALSE;
	const WCHAR *target = (const WCHAR *)(l->data + at);
	size_t length = size / sizeof *target;
	const WCHAR *rest = w->text + end;
	size_t rest_length = w->length - end;
	if (length > 0 && target[length - 1] == '\\' && rest_length > 0)
		length--;
	if (symbolic && l->data[16] & 1) // SYMLINK_FLAG_RELATIVE
		return climb(w, end, target, length, rest, rest_length);
	w->root = NULL;
	return set(w, target, length, rest, rest_length, NULL, 0);
}

// step follows the first link on the path. Moved says whether there was one.
static NTSTATUS step(struct walk *w, BOOL follow, struct link *l, BOOL *moved)
{
	*moved = FALSE;
	if (!enter(w))
		return LINKS_NO_MEMORY;
	for (size_t end = first(w); end < w->length; end++) {
		while (end < w->length && w->text[end] != '\\')
			end++;
		const BOOL last = end + 1 >= w->length; // a separator may end the path
		if (last && !follow)
			return STATUS_SUCCESS;
		const ULONG tag = read_link(w->root, w->text, end, l);
		if (tag != IO_REPARSE_TAG_SYMLINK && tag != IO_REPARSE_TAG_MOUNT_POINT)
			continue;
		*moved = follow_link(w, end, l);
		return *moved ? STATUS_SUCCESS : LINKS_NOT_RESOLVED;
	}
	return STATUS_SUCCESS;
}

static NTSTATUS walk(struct walk *w, BOOL follow, BOOL refuse, struct link *l)
{
	BOOL moved = TRUE;
	for (int followed = 0; moved; followed++) {
		if (followed > LINKS_ON_THE_WAY)
			return LINKS_NOT_RESOLVED;
		NTSTATUS status = step(w, follow, l, &moved);
		if (status < 0)
			return status;
		if (moved && refuse)
			return LINKS_ENCOUNTERED;
	}
	return STATUS_SUCCESS;
}

// Both are on the heap, because a thread of Go's has a small stack.
struct scratch {
	struct walk walk;
	struct link link;
};

struct way *resolve(const OBJECT_ATTRIBUTES *path, BOOL follow, NTSTATUS *status)
{
	struct way *w = HeapAlloc(GetProcessHeap(), 0, sizeof *w);
	struct scratch *s = HeapAlloc(GetProcessHeap(), 0, sizeof *s);
	*status = LINKS_NO_MEMORY;
	if (w && s) {
		*status = STATUS_SUCCESS;
		w->attributes = *path;
		const UNICODE_STRING *name = path->ObjectName;
		s->walk.root = path->RootDirectory;
		s->walk.length = name ? name->Length / sizeof(WCHAR) : 0;
		if (name && s->walk.length > 0 && s->walk.length < PATH_MOST) { // else the path is left as it is
			memcpy(s->walk.text, name->Buffer, name->Length);
			if (is_ours(&s->walk)) {
				*status = walk(&s->walk, follow, (path->Attributes & LINKS_DONT_REPARSE) != 0, &s->link);
				memcpy(w->text, s->walk.text, s->walk.length * sizeof(WCHAR));
				w->name = (UNICODE_STRING){(USHORT)(s->walk.length * sizeof(WCHAR)), sizeof w->text, w->text};
				w->attributes.ObjectName = &w->name;
				w->attributes.RootDirectory = s->walk.root;
			}
		}
	}
	HeapFree(GetProcessHeap(), 0, s);
	if (*status >= 0)
		return w;
	HeapFree(GetProcessHeap(), 0, w);
	return NULL;
}

void forget(struct way *w) { HeapFree(GetProcessHeap(), 0, w); }
