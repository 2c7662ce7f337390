// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"path/filepath"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ntpath"
)

func (h *fileHandle) Information(class uint32, out []byte) (err error) {
	defer h.call("GetFileInformationByHandleEx", &err)()
	if err := h.usable(false); err != nil {
		return err
	}
	switch class {
	case win32.FileBasicInfo:
		return h.basic(out)
	case win32.FileAttributeTagInfo:
		return h.attributeTag(out)
	case win32.FileStandardInfo:
		return h.standard(out)
	case win32.FileFullDirectoryInfo:
		return h.list(out, false)
	case win32.FileFullDirectoryRestartInfo:
		return h.list(out, true)
	}
	return win32.ERROR_INVALID_PARAMETER
}

// fill copies a structure of fixed size; GetFileInformationByHandleEx requires room for all of it.
func fill(out, b []byte) error {
	if len(out) < len(b) {
		return win32.ERROR_BAD_LENGTH
	}
	copy(out, b)
	return nil
}

// described returns the entry of a handle that may read attributes.
func (h *fileHandle) described() (hostfiles.Entry, error) {
	if !h.has(win32.FILE_READ_ATTRIBUTES | win32.GENERIC_READ | win32.GENERIC_WRITE) {
		return hostfiles.Entry{}, win32.ERROR_ACCESS_DENIED
	}
	return h.entry()
}

// basic gives the attributes; the agent reads no times.
func (h *fileHandle) basic(out []byte) error {
	e, err := h.described()
	if err != nil {
		return err
	}
	return fill(out, win32.FileBasic{Attributes: e.Attributes()}.Bytes())
}

// attributeTag fails on a file system without reparse points (https://github.com/winfsp/winfsp/issues/661).
func (h *fileHandle) attributeTag(out []byte) error {
	e, err := h.described()
	switch {
	case err != nil:
		return err
	case !h.content.knowsReparsePoints():
		return win32.ERROR_INVALID_PARAMETER
	}
	return fill(out, cstruct.Encode(win32.FileAttributeTag{Attributes: e.Attributes(), ReparseTag: e.Tag}))
}

func (h *fileHandle) standard(out []byte) error {
	if !h.deleted {
		if _, err := h.entry(); err != nil {
			return err
		}
	}
	return fill(out, deviceside.FileStandard(h.info.IsDir()))
}

// SetInformation implements kernel.Handle: deletion, and whether a file is read-only.
func (h *fileHandle) SetInformation(class uint32, in []byte) (err error) {
	const tooShort = win32.ERROR_BAD_LENGTH
	defer h.call("SetFileInformationByHandle", &err)()
	if err := h.usable(true); err != nil {
		return err
	}
	switch class {
	case win32.FileBasicInfo:
		return given(in, win32.ParseFileBasic, tooShort, h.setBasic)
	case win32.FileDispositionInfo:
		return given(in, deviceside.Parse[bool], tooShort, h.disposeAtClose)
	case win32.FileDispositionInfoEx:
		return given(in, deviceside.Parse[uint32], tooShort, h.dispose)
	}
	return win32.ERROR_INVALID_PARAMETER
}

// setBasic makes a file read-only or not; nothing else of FILE_BASIC_INFO is emulated. Attributes of 0 leave it as it
// is.
func (h *fileHandle) setBasic(basic win32.FileBasic) error {
	if !h.has(win32.FILE_WRITE_ATTRIBUTES | win32.GENERIC_WRITE) {
		return win32.ERROR_ACCESS_DENIED
	}
	e, err := h.entry()
	if err != nil || basic.Attributes == 0 || !e.Info.Mode().IsRegular() {
		return err
	}
	mode := e.Info.Mode().Perm() &^ 0o222
	if basic.Attributes&win32.FILE_ATTRIBUTE_READONLY == 0 {
		mode |= 0o200
	}
	return h.node.host.Change("chmod", filepath.Join(h.parent.Name(), h.name),
		func() error { return h.parent.Chmod(h.name, mode) })
}

func (h *fileHandle) FinalPath(form uint32) (_ string, err error) {
	defer h.call("GetFinalPathNameByHandleW", &err)()
	if err := h.usable(false); err != nil {
		return "", err
	}
	below, c := strings.Join(h.names(), `\`), h.content
	var roots []string // the names of the file system, with a separator at the end
	switch {
	case c.isShare() && form == win32.VOLUME_NAME_DOS:
		roots = []string{`UNC\` + c.share.String() + `\`}
	case form == win32.VOLUME_NAME_DOS:
		roots = h.node.state.pathNames(c.id)
	case !c.isShare():
		return ntpath.VolumeName(c.id) + below, nil
	}
	if len(roots) == 0 {
		return "", win32.ERROR_PATH_NOT_FOUND
	}
	final := ntpath.VerbatimPrefix + roots[0] + below
	if below == "" && len(roots[0]) > len(`C:\`) {
		final = strings.TrimSuffix(final, `\`)
	}
	return final, nil
}
