// SPDX-License-Identifier: Apache-2.0
//
// What every proxy has: the apartment in which it may be called, and the security that CoSetProxyBlanket sets on it.

#include "wmi.h"

// Fills in the apartment of the calling thread.
HRESULT apartment_of_caller(const wchar_t *call, struct apartment *apartment)
{
	APTTYPEQUALIFIER qualifier;
	HRESULT result = CoGetApartmentType(&apartment->type, &qualifier);
	if (FAILED(result)) {
		violation(L"%ls on a thread on which COM is not initialized", call);
		return CO_E_NOTINITIALIZED;
	}
	if (apartment->type == APTTYPE_MAINSTA)
		apartment->type = APTTYPE_STA;
	apartment->thread = apartment->type == APTTYPE_STA ? GetCurrentThreadId() : 0;
	apartment->known = true;
	return S_OK;
}

// A proxy may be called in its own apartment alone: RPC_E_WRONG_THREAD,
// https://learn.microsoft.com/windows/win32/com/single-threaded-apartments
HRESULT in_apartment(const wchar_t *call, const struct apartment *home)
{
	struct apartment caller = {0};
	HRESULT result = apartment_of_caller(call, &caller);
	if (FAILED(result))
		return result;
	if (caller.type != home->type || caller.thread != home->thread) {
		violation(L"%ls in another apartment than the one the proxy was made in", call);
		return RPC_E_WRONG_THREAD;
	}
	return S_OK;
}

static struct security *to_security(IClientSecurity *iface)
{
	return CONTAINING_RECORD(iface, struct security, IClientSecurity_iface);
}

static HRESULT WINAPI security_QueryInterface(IClientSecurity *iface, REFIID id, void **out)
{
	return IUnknown_QueryInterface(to_security(iface)->owner, id, out);
}

static ULONG WINAPI security_AddRef(IClientSecurity *iface)
{
	return IUnknown_AddRef(to_security(iface)->owner);
}

static ULONG WINAPI security_Release(IClientSecurity *iface)
{
	return IUnknown_Release(to_security(iface)->owner);
}

static HRESULT WINAPI security_QueryBlanket(IClientSecurity *iface, IUnknown *proxy, DWORD *authn, DWORD *authz,
	OLECHAR **principal, DWORD *level, DWORD *impersonation, void **identity, DWORD *capabilities)
{
	(void)proxy, (void)principal, (void)identity;
	if (authn)
		*authn = RPC_C_AUTHN_WINNT;
	if (authz)
		*authz = RPC_C_AUTHZ_NONE;
	if (level)
		*level = RPC_C_AUTHN_LEVEL_PKT_PRIVACY;
	if (impersonation)
		*impersonation = to_security(iface)->impersonation;
	if (capabilities)
		*capabilities = EOAC_NONE;
	return S_OK;
}

// https://learn.microsoft.com/windows/win32/api/objidl/nf-objidl-iclientsecurity-setblanket. The page
// https://learn.microsoft.com/windows/win32/wmisdk/setting-the-security-levels-on-a-wmi-connection wants a level at which WMI
// impersonates the caller.
static HRESULT WINAPI security_SetBlanket(IClientSecurity *iface, IUnknown *proxy, DWORD authn, DWORD authz,
	OLECHAR *principal, DWORD level, DWORD impersonation, void *identity, DWORD capabilities)
{
	(void)proxy, (void)principal, (void)capabilities;
	record(L"SetBlanket authentication %lu level %lu impersonation %lu", authn, level, impersonation);
	if (authn != RPC_C_AUTHN_WINNT && authn != RPC_C_AUTHN_GSS_NEGOTIATE && authn != RPC_C_AUTHN_GSS_KERBEROS &&
	    authn != RPC_C_AUTHN_DEFAULT) {
		violation(L"SetBlanket: authentication service %lu", authn);
		return E_INVALIDARG;
	}
	if (authz != RPC_C_AUTHZ_NONE && authz != RPC_C_AUTHZ_DEFAULT)
		violation(L"SetBlanket: authorization service %lu", authz);
	if (level > RPC_C_AUTHN_LEVEL_PKT_PRIVACY || impersonation > RPC_C_IMP_LEVEL_DELEGATE) {
		violation(L"SetBlanket: authentication level %lu, impersonation level %lu", level, impersonation);
		return E_INVALIDARG;
	}
	if (identity)
		violation(L"SetBlanket: an identity for a connection to the local computer");
	to_security(iface)->impersonation = impersonation;
	return S_OK;
}

static HRESULT WINAPI security_CopyProxy(IClientSecurity *iface, IUnknown *proxy, IUnknown **copy)
{
	(void)iface, (void)proxy, (void)copy;
	violation(L"IClientSecurity::CopyProxy is not part of this fake");
	return E_NOTIMPL;
}

static IClientSecurityVtbl security_vtable = {
	security_QueryInterface, security_AddRef, security_Release, security_QueryBlanket, security_SetBlanket, security_CopyProxy,
};

void make_security(struct security *security, IUnknown *owner)
{
	security->IClientSecurity_iface.lpVtbl = &security_vtable;
	security->owner = owner;
	security->impersonation = 0;
}
