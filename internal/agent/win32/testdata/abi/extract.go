// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// Command extract prints the values of layout.c, which it reads from a compiled object file.
package main

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

const (
	kindSize, nameSize = 8, 88 // struct record in layout.c
	recordSize         = kindSize + nameSize + 8
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: extract OBJECT")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "extract:", err)
		os.Exit(1)
	}
}

func run(object string) error {
	file, err := pe.Open(object)
	if err != nil {
		return err
	}
	defer file.Close()
	table, err := data(file, "golden")
	if err != nil {
		return err
	}
	for ; len(table) >= recordSize && table[0] != 0; table = table[recordSize:] {
		kind, name := text(table[:kindSize]), text(table[kindSize:kindSize+nameSize])
		value := binary.LittleEndian.Uint64(table[kindSize+nameSize:])
		switch kind {
		case "const":
			fmt.Printf("const %s %#x\n", name, value)
		case "list":
			if err := list(file, name, value); err != nil {
				return err
			}
		case "size", "offset", "struct", "member":
			fmt.Printf("%s %s %d\n", kind, name, value)
		case "bytes":
			content, err := data(file, "golden_"+name)
			if err != nil {
				return err
			}
			if uint64(len(content)) < value {
				return fmt.Errorf("%s: %d bytes, the object has %d", name, value, len(content))
			}
			fmt.Printf("bytes %s\n", name)
			for content = content[:value]; len(content) > 0; {
				line := content[:min(16, len(content))]
				fmt.Printf("\t%s\n", hex.EncodeToString(line))
				content = content[len(line):]
			}
		default:
			return fmt.Errorf("record of kind %q", kind)
		}
	}
	return nil
}

// list prints constants: their names are one object, and their values another.
func list(file *pe.File, name string, count uint64) error {
	names, err := data(file, "names_"+name)
	if err != nil {
		return err
	}
	values, err := data(file, "values_"+name)
	if err != nil {
		return err
	}
	constants := strings.Split(text(names), ",")
	if uint64(len(constants)) != count || uint64(len(values)) < 4*count {
		return fmt.Errorf("%s: %d names of %d constants", name, len(constants), count)
	}
	for i, constant := range constants {
		fmt.Printf("const %s %#x\n", strings.TrimSpace(constant), binary.LittleEndian.Uint32(values[4*i:]))
	}
	return nil
}

// data returns the content of the symbol's section from the symbol on. Pointers in it are zero: nothing is relocated.
func data(file *pe.File, symbol string) ([]byte, error) {
	for _, s := range file.Symbols {
		if s.Name != symbol || s.SectionNumber <= 0 {
			continue
		}
		content, err := file.Sections[s.SectionNumber-1].Data()
		if err != nil {
			return nil, err
		}
		return content[s.Value:], nil
	}
	return nil, fmt.Errorf("no symbol %s", symbol)
}

func text(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return strings.TrimSpace(string(b))
}
