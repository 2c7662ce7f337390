// SPDX-License-Identifier: Apache-2.0

//go:build windows

package wmi

import (
	"errors"

	"github.com/go-ole/go-ole"
	"github.com/go-ole/go-ole/oleutil"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// session is the COM state of one thread.
type session struct {
	unusable error                     // why the thread has no COM
	services map[string]*ole.IDispatch // SWbemServices by namespace
}

// close gives back what the thread has of COM, before it ends.
func (s *session) close() {
	for _, services := range s.services {
		services.Release()
	}
	if s.unusable == nil {
		ole.CoUninitialize()
	}
}

// inNamespace runs f with a connection to a namespace. A cached connection that has died is replaced; f is repeated
// only if repeatable allows it.
func (s *session) inNamespace(namespace string, repeatable func() bool, f func(services *ole.IDispatch) error) error {
	services, fresh, err := s.connect(namespace)
	if err != nil {
		return failure(err)
	}
	err = f(services)
	if err == nil || !disconnected(result(err)) {
		return failure(err)
	}
	services.Release()
	delete(s.services, namespace)
	if fresh || !repeatable() {
		return failure(err)
	}
	if services, _, err = s.connect(namespace); err == nil {
		err = f(services)
	}
	return failure(err)
}

// connect returns the connection to a namespace (SWbemLocator.ConnectServer).
// https://learn.microsoft.com/windows/win32/wmisdk/swbemlocator-connectserver
func (s *session) connect(namespace string) (services *ole.IDispatch, fresh bool, err error) {
	if s.unusable != nil {
		return nil, false, s.unusable
	}
	if services := s.services[namespace]; services != nil {
		return services, false, nil
	}
	unknown, err := oleutil.CreateObject("WbemScripting.SWbemLocator")
	if err != nil {
		return nil, false, err
	}
	defer unknown.Release()
	locator, err := unknown.QueryInterface(ole.IID_IDispatch)
	if err != nil {
		return nil, false, err
	}
	defer locator.Release()
	v, err := locator.CallMethod("ConnectServer", "", namespace) // an empty name is this machine
	if err != nil {
		return nil, false, err
	}
	services = v.ToIDispatch() // from here on, the cache owns the VARIANT's reference
	if services == nil {
		return nil, false, win32.ERROR_INVALID_DATA
	}
	s.services[namespace] = services
	return services, true, nil
}

// result returns the HRESULT of an error of go-ole, 0 for any other error.
func result(err error) uint32 {
	var e *ole.OleError
	if !errors.As(err, &e) {
		return 0
	}
	const exception = 0x80020009 // DISP_E_EXCEPTION: the reason is in the EXCEPINFO
	var info ole.EXCEPINFO
	if uint32(e.Code()) == exception && errors.As(e.SubError(), &info) && info.SCODE() != 0 {
		return info.SCODE()
	}
	return uint32(e.Code())
}

// failure returns the Win32 code of an error. The provider's text is left out, because it may quote its input.
func failure(err error) error {
	var known win32.Errno
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	}
	if r := result(err); r != 0 {
		return Code(r)
	}
	return win32.ERROR_GEN_FAILURE
}
