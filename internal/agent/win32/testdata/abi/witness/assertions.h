/* SPDX-License-Identifier: Apache-2.0
 *
 * The headers, and what the claims about them are made of. The kernel's headers have the native API's functions and
 * structures that the others lack; both together do not compile. Some of mingw-w64's headers contain errors that only C++
 * reports; what an error spoils counts as lacking.
 */
#define UNICODE
#define _UNICODE
#define _WIN32_WINNT 0x0A00
#define NTDDI_VERSION 0x0A000007
#ifdef USER_HEADERS
#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winioctl.h>
#include <storduid.h>
#include <winternl.h>
#include <ntddscsi.h>
#include <lm.h>
#include <lmerr.h>
#include <virtdisk.h>
#include <winnetwk.h>
#include <winsvc.h>
#include <ddk/mountmgr.h>
#include <cfgmgr32.h>
#define MAX_ISCSI_NAME_LEN 223 /* as documented; mingw-w64's header uses it and does not define it */
#include <iscsidsc.h>
#define ISCSI_DEVICE_ON_SESSIONW ISCSI_DEVICE_ON_SESSION /* with TCHAR */
#include <wbemdisp.h>
#include <wbemcli.h>
#endif
#ifdef KERNEL_HEADERS
#include <ntifs.h>
/* The Nt and Zw names of a function have the same prototype. */
#define NtOpenDirectoryObject ZwOpenDirectoryObject
#define NtQueryDirectoryObject ZwQueryDirectoryObject
#define WINAPI __stdcall
#endif
#include <stddef.h>

/* A number of 32 bits may be signed in one of C and Go, and unsigned in the other. */
template <class T> constexpr unsigned long long number(T v) {
    return sizeof(T) == 4 ? static_cast<unsigned int>(v) : static_cast<unsigned long long>(v);
}

/* What Go says about a parameter or result: its size, and the size of what it points to. */
enum : long { Any = -1, Bool = -2, NoPointer = -3 };

/* Go passes a bool as a zero or a one, which is right for BOOL and for BOOLEAN. */
constexpr bool fitsSize(long go, long c) { return go == Any || go == c || (go == Bool && (c == 1 || c == 4)); }

template <class T> struct Shape {
    static constexpr bool is(long size, long to) { return fitsSize(size, sizeof(T)) && (to == Any || to == NoPointer); }
};
template <class T> struct Shape<T *> {
    static constexpr bool is(long size, long to) { return fitsSize(size, sizeof(T *)) && (to == Any || to == (long)sizeof(T)); }
};
template <> struct Shape<void *> {
    static constexpr bool is(long size, long to) { return fitsSize(size, sizeof(void *)) && to != NoPointer; }
};
template <> struct Shape<const void *> : Shape<void *> {};
struct Absent;
template <> struct Shape<Absent> {
    static constexpr bool is(long, long) { return false; }
};
template <> struct Shape<void> {
    static constexpr bool is(long size, long) { return size == 0; }
};

template <size_t N, class... P> struct Nth { typedef Absent type; };
template <class T, class... P> struct Nth<0, T, P...> { typedef T type; };
template <size_t N, class T, class... P> struct Nth<N, T, P...> : Nth<N - 1, P...> {};

template <class F> struct Prototype;
template <class R, class... P> struct Prototype<R WINAPI(P...)> {
    static constexpr size_t arity = sizeof...(P);
    typedef Shape<R> result;
    template <size_t N> using parameter = Shape<typename Nth<N, P...>::type>;
};
