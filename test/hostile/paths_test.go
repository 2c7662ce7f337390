// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// outsideText is the text that operators search for.
const outsideText = "is not within the working directories"

// hostilePath is a path that no call accepts.
type hostilePath struct {
	path    string
	outside bool // well-formed, and refused for the place that it names
}

// hostilePaths returns paths that every method refuses, whichever of its fields they are in.
func hostilePaths(g *target) map[string]hostilePath {
	m := map[string]hostilePath{}
	bad := func(paths ...string) {
		for _, p := range paths {
			m[p] = hostilePath{path: p}
		}
	}
	outside := func(paths ...string) {
		for _, p := range paths {
			m[p] = hostilePath{path: p, outside: true}
		}
	}
	in := func(name string) string { return pods + `\` + name }

	bad("", " ", ".", "..", `.\pods`, `..\..\Windows`, `pods`, `C:`, `C:pods`, `C:var\lib\kubelet\pods\x`, `:\x`, `1:\x`,
		`CC:\x`, ` `+in("x"), `é:\x`)
	// Every form of ..
	bad(kubelet+`\..`, kubelet+`\..\`, in(`..\..\..\..\..\Windows`), in(`..\pods\x`), in(`x\..\y`), in(`x\..`), in(`...`),
		in(`.. `), in(`..  \x`),
		in(`.`), in(`.\x`), in(`..:$I30`), `C:\..\var\lib\kubelet\pods\x`, `C:\var\lib\kubelet\pods\..\..\kubelet-evil`,
		`\..\Windows`, `\.\x`, in(`. .`), in(`.. .`))
	// Control and reserved characters.
	for _, r := range "\x00\x01\x07\t\n\r\x1b\x1f\x7f\u0085\u009f" {
		bad(in("a"+string(r)+"b"), in("a"+string(r)), string(r)+in("x"), in("a"+string(r)+`\b`))
	}
	bad(kubelet+"\x00"+`\pods\x`, in("x\x00"), in(`a*`), in(`a?`), in(`<a`), in(`a>`), in(`"a"`), in(`a|b`),
		in(`$(Remove-Item C:\)`))
	// Look-alikes of the working directory.
	outside(`C:\var\lib\kubelet-evil\x`, `C:\var\lib\kubele\x`, `C:\var\lib\kubeletx`, `C:\var\lib\kubelet1\pods`,
		`C:\var\lib\Kubelets\x`,
		"C:\\var\\lib\\\u212aubelet\\x", "C:\\var\\l\u0131b\\kubelet\\x", "C:\\var\\lib\\kubelet\u200b\\x",
		"C:\\var\\lib\\\uff4bubelet\\x", "C:\\var\\lib\\kubele\u0442\\x",
		`C:\ var\lib\kubelet\x`, `C:\kubelet\x`, `C:\var\var\lib\kubelet\x`)
	bad(`C:\var\lib\kubelet.`, `C:\var\lib\kubelet.\x`, `C:\var\lib\kubelet \x`, `C:\var\lib\kubelet. .\x`,
		`C:\var.\lib\kubelet\x`)
	// Above and beside.
	outside(`\`, `C:\`, `c:\`, `C:\\`, `C:\var`, `C:\var\lib`, `C:\var\lib\`, `C:\Windows`, `C:\Windows\System32`,
		`\Windows`, `C:\canary\victim`,
		`\Device\HarddiskVolume1\x`, `\GLOBALROOT\x`, `\var\lib`)
	// Other drives.
	outside(`D:\var\lib\kubelet\x`, `d:\var\lib\kubelet`, `Z:\`, `A:\x`, `B:\var\lib\kubelet\pods\x`)
	// The network, and the device namespace.
	bad(`\\server\share`, `\\server\share\var\lib\kubelet\x`, `\\localhost\C$\var\lib\kubelet\x`,
		`\\127.0.0.1\C$\Windows`, `\\`, `\\\`, `\\x`,
		`\\?\`, `\\?\`+in("x"), `\\?\UNC\server\share\x`, `\\?\C:`, `\\.\`+in("x"), `\\.\PhysicalDrive0`,
		`\\.\pipe\csi-proxy-disk-v1`, `\\.\C:\Windows`,
		`\??\`+in("x"), `\??\UNC\server\share`, `\\?\GLOBALROOT\Device\HarddiskVolume1\x`, `\\?\globalroot\x`, g.volume,
		g.system, g.system+`Windows`,
		strings.TrimSuffix(g.system, `\`), `\??\`+strings.TrimPrefix(g.system, `\\?\`), `//?/C:/Windows`, `//server/share`,
		`/\?\x`, `\/?\x`, `\\;LanmanRedirector\server\share`)
	// Names that Windows reads as other names.
	bad(`C:\var\lib\KUBELE~1\x`, in(`KUBELE~1`), in(`ABCDEF~1\x`), in(`A~12.TXT`), in(`x~9`), in(`a.b~1`),
		in(`~1`), `C:\PROGRA~1`)
	delete(m, in(`a.b~1`)) // the ~1 is in the extension: no short name
	bad(in(`a:b`), in(`a::$DATA`), in(`a:$DATA`), in(`::$INDEX_ALLOCATION`), `C:\var\lib\kubelet::$INDEX_ALLOCATION\x`,
		`C:\var\lib\kubelet:x`, in(`x\`+`y:z`), in(`C:\x`))
	for _, device := range []string{"NUL", "nul", "CON", "con", "PRN", "AUX", "COM1", "com9", "COM0", "LPT1", "lpt9",
		"COM¹", "LPT³", "CONIN$", "CONOUT$", "NUL.txt", "nul.a.b", "COM1 .x", "Aux.", "NUL "} {
		bad(in(device), in(device+`\x`), in(`x\`+device))
	}
	bad(in(`x.`), in(`x `), in(`x.\y`), in(`x \y`), in(`x. `), in(`x . . `), in(" "), in("x\u0020"))
	// Too long: 260 UTF-16 units are the maximum.
	bad(fill(261, "a"), fill(1000, "a"), fill(261, "😀"), strings.Repeat(`C:\`, 100), in(strings.Repeat("a", 32<<10)),
		strings.Repeat(`\`, 32<<10), strings.Repeat("A", 32<<10))
	return m
}

// fill makes a path below the working directory of the given length in UTF-16 units, with names of one character.
func fill(length int, character string) string {
	path, each := pods, 1
	if character == "😀" {
		each = 2
	}
	for units := len(pods); units < length; {
		name := min((length-units-1)/each, 100/each)
		path += `\` + strings.Repeat(character, name)
		units += 1 + name*each
		if left := length - units; left > 0 && left < 1+each { // no room for one more name
			path += strings.Repeat("b", left)
			units += left
		}
	}
	return path
}

// harmless returns the values of a request in which the field under attack is to be the only fault.
func (g *target) harmless(m method) values {
	v := values{}
	for _, f := range m.fields {
		switch f.kind {
		case kindPath, kindSlashPath:
			v[f.name] = pods + `\harmless`
		case kindVolumeID, kindResizeID:
			v[f.name] = g.volume
		case kindDisk:
			v[f.name] = uint64(1)
		case kindFlag:
			v[f.name] = uint64(1)
		case kindPartition, kindSize:
		}
	}
	return v
}

// eachField calls f for every chosen field of every method, with a request that is otherwise harmless.
func (g *target) eachField(choose func(kind) bool, f func(m method, f field, request values)) {
	for _, m := range methods(g.t) {
		for _, field := range m.fields {
			if choose(field.kind) {
				f(m, field, g.harmless(m))
			}
		}
	}
}

func TestHostilePaths(t *testing.T) {
	g := attack(t, testnode.Options{})
	before := g.snapshot()
	calls := 0
	looked := 0
	for _, hostile := range hostilePaths(g) {
		number := len(hostile.path) // a different sample for each
		g.eachField(kind.isPath, func(m method, f field, request values) {
			if number++; !testnode.Sampled(t, number, 0, 9) {
				return
			}
			request[f.name] = hostile.path
			_, err := g.call(t.Context(), m, m.encode(t, request))
			what := fmt.Sprintf("%v, %s %q", m, f.name, clip(hostile.path))
			wantCode(t, what, err, codes.InvalidArgument)
			if hostile.outside && !strings.Contains(fmt.Sprint(err), outsideText) {
				t.Errorf("%s: %s lacks %q", what, clip(fmt.Sprint(err)), outsideText)
			}
			if text := fmt.Sprint(err); len(text) > 5000 || strings.ContainsAny(text, "\x00\n\r\x1b") {
				t.Errorf("%s: the error is %d bytes long or has control characters in it", what, len(text))
			}
			calls++
		})
		if looked++; testnode.Sampled(t, looked, 0, 10) {
			before = g.unchanged(fmt.Sprintf("path %q", clip(hostile.path)), before)
		}
	}
	g.unchanged("the last paths", before)
	g.alive()
	t.Logf("%d calls", calls)
}

// Forward slashes are refused by the filesystem group except by IsSymlink, and read as backslashes elsewhere: there a
// path is subject to the same policy.
func TestForwardSlashes(t *testing.T) {
	g := attack(t, testnode.Options{})
	before := g.snapshot()
	for path, want := range map[string]codes.Code{
		`C:/var/lib/kubelet/pods/../../../Windows`: codes.InvalidArgument,
		`C:/var/lib/kubelet-evil/x`:                codes.InvalidArgument,
		`C:/Windows`:                               codes.InvalidArgument,
		`/Windows`:                                 codes.InvalidArgument,
		`C:/var/lib/kubelet/pods/none`:             codes.OK,
		`C:\var\lib\kubelet/pods/none`:             codes.OK,
		`/var/lib/kubelet/pods//none/`:             codes.OK,
	} {
		g.eachField(kind.isPath, func(m method, f field, request values) {
			want := want
			switch {
			case f.kind == kindPath:
				want = codes.InvalidArgument
			case want == codes.OK && m.name == "MountVolume":
				return // the call does its work
			case want == codes.OK && m.name != "UnmountVolume":
				want = codes.NotFound
			}
			request[f.name] = path
			_, err := g.call(t.Context(), m, m.encode(t, request))
			wantCode(t, fmt.Sprintf("%v, %s %q", m, f.name, path), err, want)
		})
		before = g.unchanged(path, before)
	}
	g.alive()
}

// The working directory itself may be looked at and "made", and nothing else.
func TestWorkingDirectoryItself(t *testing.T) {
	g := attack(t, testnode.Options{})
	before := g.snapshot()
	for _, path := range []string{kubelet, kubelet + `\`, `c:\VAR\LIB\KUBELET`, `\var\lib\kubelet`,
		`\\var\lib\kubelet`[1:] + `\\`} {
		g.eachField(kind.isPath, func(m method, f field, request values) {
			want := map[string]codes.Code{
				"Rmdir": codes.FailedPrecondition, "RmdirContents": codes.FailedPrecondition,
				"MountVolume":   codes.FailedPrecondition,
				"CreateSymlink": codes.FailedPrecondition, "GetVolumeIDFromTargetPath": codes.NotFound,
			}[m.name]
			request[f.name] = path
			_, err := g.call(t.Context(), m, m.encode(t, request))
			wantCode(t, fmt.Sprintf("%v, %s %q", m, f.name, path), err, want)
		})
		before = g.unchanged(path, before)
	}
	g.alive()
}

// Harmless names that look dangerous: they are made, seen and removed as they are, and nothing else is.
func TestUnusualNames(t *testing.T) {
	g := attack(t, testnode.Options{})
	before := g.snapshot()
	for i, name := range []string{
		"a..b", "..a", "%SystemRoot%", "$(calc.exe)", "`calc`", "; calc #", "' OR '1'='1", "{}",
		"kubernetes.io~csi", "😀", "a~b",
		"-Force", "nulx", "COM", "COM10", "conin", "LPT1a", "e\u0301", "\u202etxt", "ſ", "kubelet", strings.Repeat("n", 200),
		fill(260, "a")[len(pods)+1:],
		fill(260, "😀")[len(pods)+1:],
	} {
		if !testnode.Sampled(t, i, 0, 1) {
			continue
		}
		path := pods + `\` + name
		for _, step := range []struct {
			method string
			exists string
		}{{"Mkdir", "\x08\x01"}, {"Rmdir", ""}} {
			for _, m := range methodsNamed(t, step.method) {
				_, err := g.call(t.Context(), m, m.encode(t, values{"path": path, "force": uint64(1)}))
				wantCode(t, fmt.Sprintf("%v of %q", m, name), err, codes.OK)
			}
			for _, m := range methodsNamed(t, "PathExists") {
				reply, err := g.call(t.Context(), m, m.encode(t, values{"path": path}))
				wantCode(t, fmt.Sprintf("%v of %q", m, name), err, codes.OK)
				if string(reply) != step.exists {
					t.Errorf("after %s of %q %v answers %q, want %q", step.method, name, m, reply, step.exists)
				}
			}
			if step.method == "Mkdir" {
				if got := len(g.snapshot()) - len(before); got != 1+strings.Count(name, `\`) {
					t.Errorf("Mkdir of %q made %d entries", name, got)
				}
			}
		}
		top, _, _ := strings.Cut(name, `\`)
		for _, m := range methodsNamed(t, "Rmdir") {
			_, err := g.call(t.Context(), m, m.encode(t, values{"path": pods + `\` + top, "force": uint64(1)}))
			wantCode(t, fmt.Sprintf("%v of %q", m, top), err, codes.OK)
		}
		before = g.unchanged(fmt.Sprintf("name %q", name), before)
	}
	g.alive()
}
