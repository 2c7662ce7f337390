// SPDX-License-Identifier: Apache-2.0

//go:build windows

package wmi

import (
	"github.com/go-ole/go-ole"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// Parameters are the in parameters of a method by name: string, bool or int32. Missing ones have their defaults.
type Parameters map[string]any

// Instance is one instance of a class while Each visits it.
type Instance struct{ object *ole.IDispatch }

// Each visits every instance that a query, constant WQL, finds in a namespace, once, until visit is done or fails. It
// is repeated on a new connection if the old one dies before the first visit, and never later.
func (c *Client) Each(namespace, wql string, visit func(Instance) (done bool, err error)) error {
	return c.do(func(s *session) error {
		visited := false
		return s.inNamespace(namespace, func() bool { return !visited }, func(services *ole.IDispatch) error {
			found, err := services.CallMethod("ExecQuery", wql)
			if err != nil {
				return err
			}
			defer release(found)
			return each(found.ToIDispatch(), func(v *ole.VARIANT) (bool, error) {
				visited = true
				object := v.ToIDispatch()
				if object == nil {
					return false, win32.ERROR_INVALID_DATA
				}
				return visit(Instance{object})
			})
		})
	})
}

// each iterates over an SWbemObjectSet. Most errors of a query appear only here: a missing class, a missing right.
// https://learn.microsoft.com/windows/win32/api/oaidl/nf-oaidl-ienumvariant-next
func each(set *ole.IDispatch, visit func(*ole.VARIANT) (bool, error)) error {
	const end = 0x00000001 // S_FALSE
	if set == nil {
		return win32.ERROR_INVALID_DATA
	}
	v, err := set.GetProperty("_NewEnum")
	if err != nil {
		return err
	}
	defer release(v)
	unknown := v.ToIUnknown()
	if unknown == nil {
		return win32.ERROR_INVALID_DATA
	}
	enum, err := unknown.IEnumVARIANT(ole.IID_IEnumVariant)
	if err != nil {
		return err
	}
	defer enum.Release()
	for {
		item, n, err := enum.Next(1)
		if err != nil && result(err) != end {
			release(&item)
			return err
		}
		if n == 0 {
			return nil
		}
		done, err := visit(&item)
		release(&item)
		if done || err != nil {
			return err
		}
	}
}

// String returns a string property, "" if it is null.
func (i Instance) String(property string) (string, error) {
	v, err := i.object.GetProperty(property)
	if err != nil {
		return "", err
	}
	defer release(v)
	return v.ToString(), nil
}

// Uint32 returns a property that is a number of up to 32 bits, which arrives as VT_I4 or smaller; 0 if it is null.
func (i Instance) Uint32(property string) (uint32, error) {
	v, err := i.object.GetProperty(property)
	if err != nil {
		return 0, err
	}
	defer release(v)
	return number(v)
}

// Call invokes a method of the instance and returns its return value.
func (i Instance) Call(method string, in Parameters) (returned uint32, err error) {
	return call(i.object, method, in, func() {})
}

// CallClass invokes a static method, never twice, and returns its value. A connection that died before is replaced.
func (c *Client) CallClass(namespace, class, method string, in Parameters) (returned uint32, err error) {
	err = c.do(func(s *session) error {
		invoked := false
		return s.inNamespace(namespace, func() bool { return !invoked }, func(services *ole.IDispatch) error {
			v, err := services.CallMethod("Get", class)
			if result(err) == wbemNotFound {
				return win32.ERROR_NOT_SUPPORTED // the class itself is missing: a Windows without the feature
			}
			if err != nil {
				return err
			}
			defer release(v)
			returned, err = call(v.ToIDispatch(), method, in, func() { invoked = true })
			return err
		})
	})
	return returned, err
}

// call is SWbemObject.ExecMethod_, with in parameters in an InParameters. It calls invoking just before.
// https://learn.microsoft.com/windows/win32/wmisdk/swbemobject-execmethod-
func call(object *ole.IDispatch, method string, in Parameters, invoking func()) (returned uint32, err error) {
	if object == nil {
		return 0, win32.ERROR_INVALID_DATA
	}
	arguments := []any{method}
	if len(in) > 0 { // a method without parameters has no InParameters
		parameters, err := inParameters(object, method)
		if err != nil {
			return 0, err
		}
		defer release(parameters)
		if err := set(parameters.ToIDispatch(), in); err != nil {
			return 0, err
		}
		arguments = append(arguments, parameters.ToIDispatch())
	}
	invoking()
	out, err := object.CallMethod("ExecMethod_", arguments...)
	if err != nil {
		return 0, err
	}
	defer release(out)
	if out.ToIDispatch() == nil {
		return 0, nil // the method returns nothing
	}
	v, err := out.ToIDispatch().GetProperty("ReturnValue")
	if err != nil {
		return 0, err
	}
	defer release(v)
	return number(v)
}

// set puts values into a set of in parameters.
func set(parameters *ole.IDispatch, in Parameters) error {
	if parameters == nil {
		return win32.ERROR_INVALID_DATA
	}
	for name, value := range in {
		v, err := parameters.PutProperty(name, value)
		if err != nil {
			return err
		}
		release(v) // a put returns nothing
	}
	return nil
}

// inParameters makes an empty set of a method's in parameters: Methods_.Item(method).InParameters.SpawnInstance_.
func inParameters(object *ole.IDispatch, method string) (*ole.VARIANT, error) {
	methods, err := object.GetProperty("Methods_")
	if err != nil {
		return nil, err
	}
	defer release(methods)
	item, err := callOn(methods, "Item", method)
	if err != nil {
		return nil, err
	}
	defer release(item)
	if item.ToIDispatch() == nil {
		return nil, win32.ERROR_INVALID_DATA
	}
	parameters, err := item.ToIDispatch().GetProperty("InParameters")
	if err != nil {
		return nil, err
	}
	defer release(parameters)
	return callOn(parameters, "SpawnInstance_")
}

func callOn(v *ole.VARIANT, method string, arguments ...any) (*ole.VARIANT, error) {
	object := v.ToIDispatch()
	if object == nil {
		return nil, win32.ERROR_INVALID_DATA
	}
	return object.CallMethod(method, arguments...)
}

// number returns 0 for null. A value that is not a number is an error, because 0 often means success.
func number(v *ole.VARIANT) (uint32, error) {
	switch v.VT {
	case ole.VT_I1, ole.VT_UI1, ole.VT_I2, ole.VT_UI2, ole.VT_I4, ole.VT_UI4, ole.VT_INT, ole.VT_UINT:
		return uint32(v.Val), nil
	case ole.VT_NULL, ole.VT_EMPTY:
		return 0, nil
	}
	return 0, win32.ERROR_INVALID_DATA
}

// release releases the object of a VARIANT, which is its only owner. That cannot fail for a valid VARIANT.
func release(v *ole.VARIANT) { _ = v.Clear() }
