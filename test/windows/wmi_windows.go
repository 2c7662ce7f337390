// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/go-ole/go-ole"
	"github.com/go-ole/go-ole/oleutil"
)

// The scripting objects of WMI, as far as the target server needs them: the agent's own client makes and deletes no
// instances.

// withWMI connects to a namespace of this machine for as long as f runs. What f gets and returns as objects is released
// by the function that received it.
// https://learn.microsoft.com/windows/win32/wmisdk/swbemlocator-connectserver
func withWMI(namespace string, f func(services *ole.IDispatch) error) error {
	runtime.LockOSThread() // COM is set up per thread
	defer runtime.UnlockOSThread()
	// false: the thread has one
	if err := unless(ole.CoInitializeEx(0, ole.COINIT_APARTMENTTHREADED), falseResult); err != nil {
		return err
	}
	defer ole.CoUninitialize()
	unknown, err := oleutil.CreateObject("WbemScripting.SWbemLocator")
	if err != nil {
		return err
	}
	defer unknown.Release()
	locator, err := unknown.QueryInterface(ole.IID_IDispatch)
	if err != nil {
		return err
	}
	defer locator.Release()
	v, err := locator.CallMethod("ConnectServer", "", namespace)
	if err != nil {
		return err
	}
	return withObject(v, f)
}

// withObject passes the object of a VARIANT to f, and releases it then.
func withObject(v *ole.VARIANT, f func(object *ole.IDispatch) error) error {
	defer func() { _ = v.Clear() }()
	if object := v.ToIDispatch(); object != nil {
		return f(object)
	}
	return errors.New("WMI returned no object")
}

// each passes every instance that a query finds to f.
// https://learn.microsoft.com/windows/win32/wmisdk/swbemservices-execquery
func each(services *ole.IDispatch, wql string, f func(object *ole.IDispatch) error) error {
	found, err := services.CallMethod("ExecQuery", wql)
	if err != nil {
		return err
	}
	return withObject(found, func(set *ole.IDispatch) error {
		v, err := set.GetProperty("_NewEnum")
		if err != nil {
			return err
		}
		defer func() { _ = v.Clear() }()
		unknown := v.ToIUnknown()
		if unknown == nil {
			return errors.New("WMI returned no enumerator")
		}
		enum, err := unknown.IEnumVARIANT(ole.IID_IEnumVariant)
		if err != nil {
			return err
		}
		defer enum.Release()
		for {
			item, n, err := enum.Next(1)
			if n == 0 {
				return unless(err, falseResult) // most errors of a query appear here
			}
			if err := withObject(&item, f); err != nil {
				return err
			}
		}
	})
}

// falseResult is S_FALSE, which go-ole returns as an error.
const falseResult = 0x00000001

// unless returns an error but for one HRESULT.
func unless(err error, result uintptr) error {
	var known *ole.OleError
	if errors.As(err, &known) && known.Code() == result {
		return nil
	}
	return err
}

// invoke calls a method of a class or an instance, with in parameters by name.
func invoke(object *ole.IDispatch, method string, in map[string]any) error {
	return done(execMethod(object, method, in))
}

// returnValue calls a method as invoke does, and returns its return value.
func returnValue(object *ole.IDispatch, method string, in map[string]any) (returned string, err error) {
	v, err := execMethod(object, method, in)
	if err != nil {
		return "", err
	}
	err = withObject(v, func(out *ole.IDispatch) (err error) {
		returned, err = text(out, "ReturnValue")
		return err
	})
	return returned, err
}

// execMethod returns the out parameters of a method.
// https://learn.microsoft.com/windows/win32/wmisdk/swbemobject-execmethod-
func execMethod(object *ole.IDispatch, method string, in map[string]any) (out *ole.VARIANT, err error) {
	methods, err := object.GetProperty("Methods_")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	err = withObject(methods, func(methods *ole.IDispatch) error {
		item, err := methods.CallMethod("Item", method)
		if err != nil {
			return err
		}
		return withObject(item, func(item *ole.IDispatch) error {
			if len(in) == 0 { // it has no InParameters
				out, err = object.CallMethod("ExecMethod_", method)
				return err
			}
			class, err := item.GetProperty("InParameters")
			if err != nil {
				return err
			}
			return withObject(class, func(class *ole.IDispatch) error {
				parameters, err := class.CallMethod("SpawnInstance_")
				if err != nil {
					return err
				}
				return withObject(parameters, func(parameters *ole.IDispatch) error {
					if err := put(parameters, in); err != nil {
						return err
					}
					out, err = object.CallMethod("ExecMethod_", method, parameters)
					return err
				})
			})
		})
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return out, nil
}

// put sets properties.
func put(object *ole.IDispatch, values map[string]any) error {
	for name, value := range values {
		if err := done(object.PutProperty(name, value)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// done drops the result of a call that is known by its success.
func done(v *ole.VARIANT, err error) error {
	if err == nil {
		_ = v.Clear()
	}
	return err
}

// text returns a property that is a string or a number.
func text(object *ole.IDispatch, property string) (string, error) {
	v, err := object.GetProperty(property)
	if err != nil {
		return "", fmt.Errorf("%s: %w", property, err)
	}
	defer func() { _ = v.Clear() }()
	if value := v.Value(); value != nil {
		return fmt.Sprint(value), nil
	}
	return "", nil
}
