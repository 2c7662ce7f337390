// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"strconv"
	"strings"
)

var sysLine = regexp.MustCompile(`^//sys(?:nb)?\s+\w+(\(.*?\)) *(\(.*?\))? *(?:\[.*\])? = (\w+)\.(\w+)$`)

// prototypes claims the arity, and each parameter's and result's size, of every function of Windows that the unit
// calls: by a //sys line, or by Call of a LazyProc.
func (s *source) prototypes(u *unit) (claims []claim, complaints []string) {
	complain := func(at token.Pos, format string, a ...any) {
		complaints = append(complaints, fmt.Sprintf("%s: %s", s.fset.Position(at), fmt.Sprintf(format, a...)))
	}
	for _, file := range u.files {
		for _, group := range file.Comments {
			for _, line := range group.List {
				if !strings.HasPrefix(line.Text, "//sys") {
					continue
				}
				c, err := s.sysClaims(u, line.Text)
				if claims = append(claims, c...); err != nil {
					complain(line.Pos(), "%v", err)
				}
			}
		}
		if ast.IsGenerated(file) {
			continue // from the //sys lines
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if method.Sel.Name != "Call" || !isProc(u.info.TypeOf(method.X)) {
				return true
			}
			var names []string
			if receiver, ok := method.X.(*ast.Ident); ok {
				names = u.procs(u.info.Uses[receiver])
			}
			if len(names) == 0 {
				complain(n.Pos(), "cannot see which function of Windows is called")
			}
			shapes := []string{"Any, NoPointer"}
			for _, a := range call.Args {
				shapes = append(shapes, s.argument(u, a))
			}
			for _, name := range names {
				claims = append(claims, signature(u.name, name, shapes)...)
			}
			return true
		})
	}
	return claims, complaints
}

func isProc(t types.Type) bool {
	return t != nil && strings.HasSuffix(strings.TrimPrefix(t.String(), "*"), "windows.LazyProc")
}

// procs returns the functions of Windows that a variable of type *LazyProc may stand for. If it is a function's
// parameter, these are the functions that callers pass.
func (u *unit) procs(o types.Object) (names []string) {
	for _, file := range u.files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if u.info.Defs[name] != o || i >= len(n.Values) {
						continue
					}
					if call, ok := n.Values[i].(*ast.CallExpr); ok && len(call.Args) == 1 {
						if text, ok := call.Args[0].(*ast.BasicLit); ok {
							name, _ := strconv.Unquote(text.Value)
							names = append(names, name)
						}
					}
				}
			case *ast.CallExpr:
				callee, ok := n.Fun.(*ast.Ident)
				if !ok {
					return true
				}
				function, ok := u.info.Uses[callee].(*types.Func)
				if !ok {
					return true
				}
				parameters := function.Signature().Params()
				for i := range parameters.Len() {
					if passed, ok := n.Args[min(i, len(n.Args)-1)].(*ast.Ident); ok && parameters.At(i) == o {
						names = append(names, u.procs(u.info.Uses[passed])...)
					}
				}
			}
			return true
		})
	}
	return names
}

// argument returns the shape of an argument of Call, which is a uintptr made from something else.
func (s *source) argument(u *unit, e ast.Expr) string {
	if u.info.Types[e].Value != nil {
		return "Any, Any"
	}
	for {
		conversion, ok := e.(*ast.CallExpr)
		if !ok || len(conversion.Args) != 1 || !u.info.Types[conversion.Fun].IsType() {
			break
		}
		e = conversion.Args[0]
	}
	if basic, ok := u.info.TypeOf(e).(*types.Basic); ok && basic.Kind() == types.Uintptr {
		return "Any, Any"
	}
	return s.shape(u.info.TypeOf(e))
}

// shape returns what assertions.h expects of a C type: its size, and the size of what it points to.
func (s *source) shape(t types.Type) string {
	switch under := t.Underlying().(type) {
	case *types.Pointer:
		if basic, ok := under.Elem().Underlying().(*types.Basic); ok && basic.Kind() == types.Uint8 {
			return "8, Any" // bytes of something
		}
		return fmt.Sprintf("8, %d", s.sizes.Sizeof(under.Elem()))
	case *types.Basic:
		switch {
		case under.Kind() == types.Bool:
			return "Bool, NoPointer"
		case under.Kind() == types.Uintptr || under.Kind() == types.UnsafePointer:
			return "8, Any"
		case under.Info()&types.IsInteger != 0:
			return fmt.Sprintf("%d, NoPointer", s.sizes.Sizeof(t))
		}
	}
	return ""
}

// sysClaims claims the prototype in a //sys line, whose syntax is that of golang.org/x/sys/windows/mkwinsyscall.
func (s *source) sysClaims(u *unit, line string) ([]claim, error) {
	m := sysLine.FindStringSubmatch(line)
	if m == nil {
		return nil, fmt.Errorf("cannot understand %q", line)
	}
	expression, err := parser.ParseExprFrom(s.fset, "", "func"+m[1]+m[2]+"{}", 0)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", line, err)
	}
	function := expression.(*ast.FuncLit).Type
	scope := token.NoPos
	for _, file := range u.files {
		if ast.IsGenerated(file) {
			scope = file.FileEnd - 1 // it imports what the lines need
		}
	}
	result := "Any, NoPointer" // success or not
	shapes := []string{""}
	for _, list := range []*ast.FieldList{function.Params, function.Results} {
		if list == nil {
			continue
		}
		for _, field := range list.List {
			if name, ok := field.Type.(*ast.Ident); ok && name.Name == "error" {
				continue
			}
			found, err := types.Eval(s.fset, u.pkg, scope, types.ExprString(field.Type))
			if err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			shape := s.shape(found.Type)
			if shape == "" {
				return nil, fmt.Errorf("%q: %s is not a type of C", line, found.Type)
			}
			if list == function.Results {
				result = shape
				continue
			}
			for range field.Names {
				shapes = append(shapes, shape)
			}
		}
	}
	shapes[0] = result
	return signature(u.name, m[4], shapes), nil
}

// signature makes the claims about one function. The first shape is the result's.
func signature(origin, name string, shapes []string) []claim {
	prototype := fmt.Sprintf("Prototype<decltype(%s)>::", name)
	arity := len(shapes) - 1
	claims := []claim{{name + ":arity", name, fmt.Sprintf("%sarity == %d", prototype, arity),
		fmt.Sprintf("%s: %s has %d parameters", origin, name, arity)}}
	for i, shape := range shapes {
		key, part := name+":result", "result"
		if i > 0 {
			key, part = fmt.Sprintf("%s:%d", name, i), fmt.Sprintf("parameter<%d>", i-1)
		}
		size, to, _ := strings.Cut(shape, ", ")
		claims = append(claims, claim{
			key, name, fmt.Sprintf("%s%s::is(%s)", prototype, part, shape),
			fmt.Sprintf("%s: %s has size %s and points to size %s", origin, key, size, to),
		})
	}
	return claims
}
