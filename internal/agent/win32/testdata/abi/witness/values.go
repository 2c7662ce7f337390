// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"math"
	"os"
	"regexp"
	"strings"
)

// claims returns what the source claims, and complains about declarations that the table does not account for.
func (s *source) claims(t *table) (claims []claim, complaints []string) {
	for _, u := range s.units {
		for _, file := range u.files {
			if ast.IsGenerated(file) {
				continue
			}
			ast.Inspect(file, func(n ast.Node) bool {
				var c []claim
				var err error
				switch n := n.(type) {
				case *ast.ValueSpec:
					for _, name := range n.Names {
						if o, ok := u.info.Defs[name].(*types.Const); ok {
							more, wrong := s.constant(t, u, o)
							if c = append(c, more...); wrong != nil {
								err = wrong
							}
						}
					}
				case *ast.TypeSpec:
					if !u.encoded {
						c, err = s.structure(t, u, u.info.Defs[n.Name])
					}
				}
				claims = append(claims, c...)
				if err != nil {
					complaints = append(complaints, fmt.Sprintf("%s: %v", s.fset.Position(n.Pos()), err))
				}
				return true
			})
		}
		more, wrong := s.prototypes(u)
		claims, complaints = append(claims, more...), append(complaints, wrong...)
	}
	return claims, complaints
}

var nameInC = regexp.MustCompile(`^[A-Z][A-Z0-9]*_[A-Z0-9_]+$`)

// constant claims a constant's value. A constant of package win32 that is exported, and any whose name can only be C's,
// has the same name in C.
func (s *source) constant(t *table, u *unit, o *types.Const) ([]claim, error) {
	if o.Name() == "_" || o.Val().Kind() != constant.Int || types.TypeString(o.Type(), nil) == "time.Duration" {
		return nil, nil
	}
	name := u.name + "." + o.Name()
	if t.use("own", name) {
		return nil, nil
	}
	expression := t.rows["const"][name]
	if expression != "" {
		t.use("const", name)
	} else if nameInC.MatchString(o.Name()) || u.encoded && o.Exported() && !strings.HasPrefix(o.Name(), "Sizeof") {
		expression = o.Name()
	} else {
		return nil, fmt.Errorf("%s has no line in %s: \"const %s C-EXPRESSION\", or \"own %s REASON\"",
			name, t.path, name, name)
	}
	value, exact := constant.Uint64Val(o.Val())
	if signed, ok := constant.Int64Val(o.Val()); ok && signed < 0 {
		if value, exact = uint64(signed), true; signed >= math.MinInt32 {
			value = uint64(uint32(signed))
		}
	}
	if !exact {
		return nil, fmt.Errorf("%s has more than 64 bits", name)
	}
	key := strings.ReplaceAll(expression, " ", "")
	return []claim{{key, key, fmt.Sprintf("number(%s) == %#xull", expression, value),
		fmt.Sprintf("%s: %s == %#x", name, expression, value)}}, nil
}

// structure claims a structure's size and its fields' offsets and sizes. Only a structure that is plain memory can be
// handed to Windows.
func (s *source) structure(t *table, u *unit, o types.Object) ([]claim, error) {
	if o == nil {
		return nil, nil
	}
	structure, ok := o.Type().Underlying().(*types.Struct)
	if !ok || structure.NumFields() == 0 || !plain(structure) {
		return nil, nil
	}
	name := u.name + "." + o.Name()
	if t.use("own", name) {
		return nil, nil
	}
	row := strings.Fields(t.rows["struct"][name])
	if len(row) == 0 {
		return nil, fmt.Errorf("%s has no line in %s: \"struct %s C-NAME C-FIELD…\", or \"own %s REASON\"",
			name, t.path, name, name)
	}
	t.use("struct", name)
	var fields []*types.Var
	for f := range structure.Fields() {
		fields = append(fields, f)
	}
	offsets := s.sizes.Offsetsof(fields)
	claims := []claim{sizeClaim(name, row[0], s.sizes.Sizeof(structure))}
	row, c := row[1:], row[0]
	for i, f := range fields {
		if f.Name() == "_" {
			continue // padding
		}
		if len(row) == 0 {
			return nil, fmt.Errorf("%s.%s has no field in %s", name, f.Name(), t.path)
		}
		field, err := fieldOf(f.Name(), row[0])
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", t.path, name, err)
		}
		size := s.sizes.Sizeof(f.Type())
		claims = append(claims, offsetClaim(name+"."+f.Name(), c, field, offsets[i]), claim{
			c + "." + field + ":size", c + "." + field, fmt.Sprintf("sizeof(((%s *)0)->%s) == %d", c, field, size),
			fmt.Sprintf("%s.%s: sizeof(%s.%s) == %d", name, f.Name(), c, field, size),
		})
		row = row[1:]
	}
	if len(row) > 0 {
		return nil, fmt.Errorf("%s has fewer fields than its line in %s", name, t.path)
	}
	return claims, nil
}

// fieldOf returns the field of C that a row's entry names for a field of Go. Offsets and sizes do not show that two
// fields of one type were taken for each other: the C name must end in the Go name, or the entry is GO=C.
func fieldOf(field, entry string) (string, error) {
	if from, to, found := strings.Cut(entry, "="); found && from == field {
		return to, nil
	}
	if !strings.HasSuffix(strings.ToLower(strings.ReplaceAll(entry, "_", "")), strings.ToLower(field)) {
		return "", fmt.Errorf("the field %s is not %s; if it is, write %s=C-FIELD", field, entry, field)
	}
	return entry, nil
}

// plain reports whether a value of the type is memory that C could have.
func plain(t types.Type) bool {
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return t.Info()&(types.IsInteger|types.IsBoolean) != 0 || t.Kind() == types.UnsafePointer
	case *types.Pointer:
		return true
	case *types.Array:
		return plain(t.Elem())
	case *types.Struct:
		for f := range t.Fields() {
			if !plain(f.Type()) {
				return false
			}
		}
		return true
	}
	return false
}

func sizeClaim(origin, name string, size int64) claim {
	return claim{name + ":size", name, fmt.Sprintf("sizeof(%s) == %d", name, size),
		fmt.Sprintf("%s: sizeof(%s) == %d", origin, name, size)}
}

func offsetClaim(origin, name, field string, offset int64) claim {
	key := name + "." + field
	return claim{key, key, fmt.Sprintf("offsetof(%s, %s) == %d", name, field, offset),
		fmt.Sprintf("%s: offsetof(%s, %s) == %d", origin, name, field, offset)}
}

// layoutClaims claims the sizes and offsets that layout.c has given to our structures, with its own declarations where
// it has some.
func layoutClaims(paths []string) (claims []claim, err error) {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			var kind, name string
			var value int64
			if n, _ := fmt.Sscanf(line, "%s %s %d", &kind, &name, &value); n != 3 {
				continue
			}
			switch kind {
			case "size", "struct":
				claims = append(claims, sizeClaim("layout.c", name, value))
			case "offset", "member":
				structure, field, _ := strings.Cut(name, ".")
				if strings.HasSuffix(structure, "ReparseBuffer") { // a union in REPARSE_DATA_BUFFER
					if !strings.HasPrefix(field, "Re") {
						field = structure + "." + field
					}
					structure = "REPARSE_DATA_BUFFER"
				}
				claims = append(claims, offsetClaim("layout.c", structure, field, value))
			}
		}
	}
	return claims, nil
}
