// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// page is the size of a memory page on amd64 and arm64.
const page = 4096

// Where fields are within their header, in bytes. PE Format: COFF File Header, Optional Header, Section Table.
// https://learn.microsoft.com/windows/win32/debug/pe-format
const (
	pointerToSymbolTable = 8
	fileAlignment        = 36
	sizeOfHeaders        = 60
	sizeOfRawData        = 16
	pointerToRawData     = 20

	signatureBytes   = 4
	fileHeaderBytes  = 20
	sectionBytes     = 40
	offsetOfNew      = 0x3c // e_lfanew, in the MS-DOS header
	mostHeadersBytes = page // they stay in front of the first section
)

// alignFile aligns the sections of a Windows program's file to pages.
func alignFile(path string) error {
	program, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	aligned, err := alignSections(program)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, aligned, 0o755) //nolint:gosec // a program
}

// alignSections returns a Windows program, as Go's linker writes it, with its sections at page boundaries of the file. In
// memory nothing changes. Go's linker aligns them to 512 bytes and cannot be told otherwise. Both are valid; Wine
// maps aligned sections from the file, and copies others into memory with every start. A program with anything that the
// move would break, or that has been signed, is refused.
func alignSections(program []byte) ([]byte, error) {
	f, err := pe.NewFile(bytes.NewReader(program))
	if err != nil {
		return nil, err
	}
	header, ok := f.OptionalHeader.(*pe.OptionalHeader64)
	if !ok {
		return nil, errors.New("it is no 64-bit program")
	}
	if err := movable(f, header); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	fileHeader := int(le.Uint32(program[offsetOfNew:])) + signatureBytes
	optionalHeader := fileHeader + fileHeaderBytes
	table := optionalHeader + int(f.SizeOfOptionalHeader)

	aligned := toPage(bytes.Clone(program[:header.SizeOfHeaders]))
	le.PutUint32(aligned[fileHeader+pointerToSymbolTable:], 0) // there are none, and the pointer is to where they would be
	le.PutUint32(aligned[optionalHeader+fileAlignment:], page)
	le.PutUint32(aligned[optionalHeader+sizeOfHeaders:], uint32(len(aligned)))
	for n, s := range f.Sections {
		if s.Size == 0 {
			continue
		}
		content, err := s.Data()
		if err != nil {
			return nil, fmt.Errorf("the section %s: %w", s.Name, err)
		}
		entry := aligned[table+n*sectionBytes:]
		start := len(aligned)
		le.PutUint32(entry[pointerToRawData:], uint32(start))
		le.PutUint32(entry[sizeOfRawData:], uint32(len(content)+padding(len(content))))
		aligned = toPage(append(aligned, content...))
	}
	return aligned, nil
}

// movable returns an error if something else than the section table says where in the file a section is.
func movable(f *pe.File, header *pe.OptionalHeader64) error {
	switch {
	case header.SectionAlignment != page:
		return fmt.Errorf("its sections are aligned to %d bytes in memory, not to pages", header.SectionAlignment)
	case header.SizeOfHeaders > mostHeadersBytes:
		return fmt.Errorf("its headers have %d bytes, more than a page", header.SizeOfHeaders)
	case header.CheckSum != 0:
		return errors.New("it has a checksum")
	case f.NumberOfSymbols != 0:
		return errors.New("it has a symbol table: link with -s")
	case header.DataDirectory[pe.IMAGE_DIRECTORY_ENTRY_SECURITY].Size != 0:
		return errors.New("it is signed")
	case header.DataDirectory[pe.IMAGE_DIRECTORY_ENTRY_DEBUG].Size != 0:
		return errors.New("it has a debug directory")
	}
	return nil
}

func toPage(b []byte) []byte { return append(b, make([]byte, padding(len(b)))...) }

// padding is how many bytes are missing to a page boundary.
func padding(size int) int { return -size & (page - 1) }
