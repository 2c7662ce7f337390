// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"fmt"
	"time"
)

// Call describes one kernel call to interceptors.
type Call struct {
	Function string // the Kernel or Handle method: "DeviceIoControl", "SetVolumeMountPoint"
	Object   string // the path that was passed to the call or that opened its handle; never a secret
	Device   bool   // a call on a handle from OpenDevice
	Code     uint32 // the control code or information class, 0 where there is none
	Argument string // a further object: a volume, a file system; never a secret
	// the number, from 1, of the object among those that an operation asks side by side; 0: it asks no other
	Part  int
	Input []byte // of a control code or an information class; may be read until the call returns
}

// Interceptor wraps every kernel call: it may observe, wait, fail instead of calling do, or fail after it. The context
// is that of the RPC on whose behalf the call is made; it does not cancel the call.
type Interceptor func(ctx context.Context, call Call, do func() error) error

// Chain combines interceptors; the first is outermost. Nil ones are skipped; without any, Chain returns nil.
func Chain(interceptors ...Interceptor) Interceptor {
	var chain Interceptor
	for i := len(interceptors) - 1; i >= 0; i-- {
		outer, inner := interceptors[i], chain
		switch {
		case outer == nil:
		case inner == nil:
			chain = outer
		default:
			chain = func(ctx context.Context, call Call, do func() error) error {
				return outer(ctx, call, func() error { return inner(ctx, call, do) })
			}
		}
	}
	return chain
}

// Intercept returns k with every call passing through the interceptor, also the calls on handles that it opens. With a
// nil interceptor it returns k itself.
func Intercept(ctx context.Context, k Kernel, interceptor Interceptor) Kernel {
	if interceptor == nil {
		return k
	}
	return &intercepted{ctx: ctx, kernel: k, around: interceptor}
}

// InterceptAfter is Intercept with a check before each call but Close, whose error is the call's.
func InterceptAfter(ctx context.Context, k Kernel, check func() error, interceptor Interceptor) Kernel {
	return &intercepted{ctx: ctx, kernel: k, check: check, around: interceptor}
}

type intercepted struct {
	ctx    context.Context //nolint:containedctx // the value lives exactly as long as the call it is bound to
	kernel Kernel
	check  func() error // may be nil
	around Interceptor  // may be nil
}

func (k *intercepted) call(call Call, f func() error) error {
	if call.Function == "Close" {
		return f()
	}
	if k.check != nil {
		if err := k.check(); err != nil {
			return err
		}
	}
	if k.around == nil {
		return f()
	}
	return k.around(k.ctx, call, f)
}

func (k *intercepted) do(function, object string, f func() error) error {
	return k.call(Call{Function: function, Object: object}, f)
}

// doWith is do for a call that has an argument besides its object.
func (k *intercepted) doWith(function, object, argument string, f func() error) error {
	return k.call(Call{Function: function, Object: object, Argument: argument}, f)
}

func (k *intercepted) DiskInterfaces() (paths []string, err error) {
	err = k.do("DiskInterfaces", "", func() (err error) { paths, err = k.kernel.DiskInterfaces(); return err })
	return paths, err
}

func (k *intercepted) AdapterInterfaces() (paths []string, err error) {
	err = k.do("AdapterInterfaces", "", func() (err error) { paths, err = k.kernel.AdapterInterfaces(); return err })
	return paths, err
}

func (k *intercepted) OpenDevice(path string, access uint32) (h Handle, err error) {
	return k.open("OpenDevice", path, func() (Handle, error) { return k.kernel.OpenDevice(path, access) })
}

func (k *intercepted) ReenumerateDevices() error {
	return k.do("ReenumerateDevices", "", k.kernel.ReenumerateDevices)
}

func (k *intercepted) WaitForDeviceInstalls(limit time.Duration) error {
	return k.do("WaitForDeviceInstalls", "", func() error { return k.kernel.WaitForDeviceInstalls(limit) })
}

func (k *intercepted) UpdateStorageCache() error {
	return k.do("UpdateStorageCache", "", k.kernel.UpdateStorageCache)
}

func (k *intercepted) ResizePartition(diskNumber uint32, offset, sizeBytes int64) error {
	return k.doWith("ResizePartition", fmt.Sprintf("disk %d, offset %d", diskNumber, offset),
		fmt.Sprintf("%d bytes", sizeBytes), func() error {
			return k.kernel.ResizePartition(diskNumber, offset, sizeBytes)
		})
}

func (k *intercepted) OpenFile(dir Handle, name string, how OpenHow) (Handle, error) {
	object := name
	if d, ok := dir.(*interceptedHandle); ok {
		dir, object = d.handle, ObjectIn(d.object, name)
	}
	return k.open("OpenFile", object, func() (Handle, error) { return k.kernel.OpenFile(dir, name, how) })
}

// open closes the handle if the interceptor fails the call after it took effect: no caller could.
func (k *intercepted) open(function, object string, open func() (Handle, error)) (Handle, error) {
	var h Handle
	err := k.do(function, object, func() (err error) { h, err = open(); return err })
	if err != nil {
		if h != nil {
			_ = h.Close()
		}
		return nil, err
	}
	return &interceptedHandle{k: k, handle: h, object: object, device: function == "OpenDevice"}, nil
}

func (k *intercepted) SystemWindowsDirectory() (dir string, err error) {
	err = k.do("SystemWindowsDirectory", "",
		func() (err error) { dir, err = k.kernel.SystemWindowsDirectory(); return err })
	return dir, err
}

func (k *intercepted) VolumeNames() (names []string, err error) {
	err = k.do("VolumeNames", "", func() (err error) { names, err = k.kernel.VolumeNames(); return err })
	return names, err
}

func (k *intercepted) VolumePathNames(volumeName string) (paths []string, err error) {
	err = k.do("VolumePathNames", volumeName,
		func() (err error) { paths, err = k.kernel.VolumePathNames(volumeName); return err })
	return paths, err
}

func (k *intercepted) VolumeNameForMountPoint(mountPoint string) (name string, err error) {
	err = k.do("VolumeNameForMountPoint", mountPoint, func() (err error) {
		name, err = k.kernel.VolumeNameForMountPoint(mountPoint)
		return err
	})
	return name, err
}

func (k *intercepted) SetVolumeMountPoint(mountPoint, volumeName string) error {
	return k.doWith("SetVolumeMountPoint", mountPoint, volumeName,
		func() error { return k.kernel.SetVolumeMountPoint(mountPoint, volumeName) })
}

func (k *intercepted) DeleteVolumeMountPoint(mountPoint string) error {
	return k.do("DeleteVolumeMountPoint", mountPoint, func() error { return k.kernel.DeleteVolumeMountPoint(mountPoint) })
}

func (k *intercepted) VolumeInformation(root string) (fileSystem string, err error) {
	err = k.do("VolumeInformation", root,
		func() (err error) { fileSystem, err = k.kernel.VolumeInformation(root); return err })
	return fileSystem, err
}

func (k *intercepted) DiskFreeSpace(root string) (total, free uint64, err error) {
	err = k.do("DiskFreeSpace", root, func() (err error) { total, free, err = k.kernel.DiskFreeSpace(root); return err })
	return total, free, err
}

func (k *intercepted) FormatVolume(volumeName, fileSystem string) error {
	return k.doWith("FormatVolume", volumeName, fileSystem,
		func() error { return k.kernel.FormatVolume(volumeName, fileSystem) })
}

type interceptedHandle struct {
	k      *intercepted
	handle Handle
	object string
	device bool // see Call
}

func (h *interceptedHandle) do(function string, code uint32, in []byte, f func() error) error {
	return h.k.call(Call{Function: function, Object: h.object, Device: h.device, Code: code, Input: in}, f)
}

func (h *interceptedHandle) DeviceIoControl(code uint32, in, out []byte) (n int, err error) {
	err = h.do("DeviceIoControl", code, in,
		func() (err error) { n, err = h.handle.DeviceIoControl(code, in, out); return err })
	return n, err
}

func (h *interceptedHandle) ReadAt(p []byte, offset int64) (n int, err error) {
	err = h.do("ReadAt", 0, nil, func() (err error) { n, err = h.handle.ReadAt(p, offset); return err })
	return n, err
}

func (h *interceptedHandle) Flush() error { return h.do("Flush", 0, nil, h.handle.Flush) }

func (h *interceptedHandle) FinalPath(volumeName uint32) (path string, err error) {
	err = h.do("FinalPath", volumeName, nil, func() (err error) { path, err = h.handle.FinalPath(volumeName); return err })
	return path, err
}

func (h *interceptedHandle) Information(class uint32, out []byte) error {
	return h.do("Information", class, nil, func() error { return h.handle.Information(class, out) })
}

func (h *interceptedHandle) SetInformation(class uint32, in []byte) error {
	return h.do("SetInformation", class, in, func() error { return h.handle.SetInformation(class, in) })
}

func (h *interceptedHandle) Rename(dir Handle, name string) error {
	to := name
	if d, ok := dir.(*interceptedHandle); ok {
		dir, to = d.handle, ObjectIn(d.object, name)
	}
	return h.k.doWith("Rename", h.object, to, func() error { return h.handle.Rename(dir, name) })
}

// Close is not intercepted: it must always happen, and no caller could act on a failure. It may take as long as other
// calls.
func (h *interceptedHandle) Close() error { return h.do("Close", 0, nil, h.handle.Close) }
