// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed" // for the templates
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A library is a group of the in-process library, which has a package for the calls and one for a machine.
type library struct {
	Kind    string   // name of the group's type, and of the client's field
	Checked bool     // whether it checks paths and messages for a HostAPI of a driver
	more    []string // methods that the API lacks
	hand    []string // what is written by hand, besides methods whose fields need a conversion
	Host    []string // methods of the HostAPI that are written by hand
}

func libraries() map[string]library {
	return map[string]library{
		"disk": {Kind: "Disk", hand: []string{"Disk.PartitionDisk", "HostAPI.PartitionDisk"},
			Host: []string{"IsDiskInitialized(diskNumber uint32) (bool, error)", "InitializeDisk(diskNumber uint32) error",
				"BasicPartitionsExist(diskNumber uint32) (bool, error)", "CreateBasicPartition(diskNumber uint32) error"}},
		"filesystem": {Kind: "Filesystem", Checked: true, more: []string{"PathValid"},
			hand: []string{"within"}, Host: []string{"PathValid(path string) (bool, error)"}},
		"iscsi": {Kind: "ISCSI", Checked: true, hand: []string{"AuthenticationType", "within"},
			Host: []string{"ListTargetPortals() ([]TargetPortal, error)",
				"ConnectTarget(portal *TargetPortal, iqn, authType, chapUser, chapSecret string) error"}},
		"smb": {Kind: "SMB", hand: []string{"New", "within", "SMB.NewSMBGlobalMapping",
			"SMB.RemoveSMBGlobalMapping", "SMBAPI.NewSMBGlobalMapping"},
			Host: []string{"IsSMBMapped(remotePath string) (bool, error)",
				"NewSMBLink(remotePath, localPath string) error",
				"NewSMBGlobalMapping(remotePath, username, password string) error"}},
		"system": {Kind: "System", Host: []string{"GetService(name string) (*ServiceInfo, error)"}},
		"volume": {Kind: "Volume"},
	}
}

// The templates' data besides the table.
type libraryFile struct {
	library
	Group, Stubs, Path, Module, Receiver string
	File                                 *protogen.File
	Service                              *protogen.Service
}

//go:embed group.go.tmpl
var groupTemplate string

//go:embed hostapi.go.tmpl
var hostAPITemplate string

// generateLibrary writes the two packages of a group, if it is one of the library of a module and the file has its
// newest version.
func generateLibrary(plugin *protogen.Plugin, module string, file *protogen.File, p apiPackage) error {
	of, ok := libraries()[p.group]
	if !ok || tableOf(p.group).Hub != p.version {
		return nil
	}
	data := libraryFile{of, p.group, p.group + p.version, string(file.GoImportPath), module,
		strings.ToLower(of.Kind[:1]), file, file.Services[0]}
	dir := path.Join(module, "pkg", p.group)
	for _, made := range []struct{ name, text string }{
		{path.Join(dir, p.group+"_generated.go"), groupTemplate},
		{path.Join(dir, "hostapi/hostapi_generated.go"), hostAPITemplate},
	} {
		g := plugin.NewGeneratedFile(made.name, protogen.GoImportPath(path.Dir(made.name)))
		generateHeader(g, file)
		if err := template.Must(template.New(made.name).Funcs(template.FuncMap{
			"name": libraryName, "param": parameter, "type": goType, "comment": libraryComment, "checked": checked,
			"plain": plain, "listed": listed, "prefix": prefix,
		}).Parse(made.text)).Execute(g, data); err != nil {
			return err
		}
	}
	return nil
}

// ByHand reports whether something is not generated.
func (l libraryFile) ByHand(name string) bool { return slices.Contains(l.hand, name) }

// Interface returns the names of all methods.
func (l libraryFile) Interface() []string {
	names := slices.Clone(l.more)
	for _, m := range l.Service.Methods {
		names = append(names, libraryName(m.GoName))
	}
	slices.Sort(names)
	return names
}

// libraryName spells a name as the library does: VolumeID and SMB, not VolumeId and Smb.
func libraryName(name string) string {
	name = strings.NewReplacer("Smb", "SMB", "Iqn", "IQN").Replace(name)
	return regexp.MustCompile(`Id(s?)$`).ReplaceAllString(name, "ID$1")
}

// prefix returns what stands before the values of an enum: SERVICE_STATUS_ for ServiceStatus.
func prefix(enum *protogen.Enum) string {
	return strings.ToUpper(regexp.MustCompile(`\B[A-Z]`).ReplaceAllString(enum.GoIdent.GoName, "_$0")) + "_"
}

// parameter returns the name of the parameter or result of a field.
func parameter(f *protogen.Field) string {
	name := libraryName(f.Desc.JSONName())
	return strings.ToLower(name[:1]) + name[1:]
}

// libraryComment returns a comment as Go has it.
func libraryComment(c protogen.Comments) string {
	return strings.NewReplacer("Smb", "SMB").Replace(c.String())
}

func goType(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return "map[" + goType(f.MapKey()) + "]" + goType(f.MapValue())
	case f.IsList():
		return "[]" + element(f)
	}
	return element(f)
}

func element(f protoreflect.FieldDescriptor) string {
	switch {
	case f.Message() != nil:
		return "*" + string(f.Message().Name())
	case f.Enum() != nil:
		return string(f.Enum().Name())
	}
	return f.Kind().String()
}

// plain reports whether the fields of a method are the parameters and results of the HostAPI's method.
func plain(m *protogen.Method) bool {
	converted := func(f *protogen.Field) bool { return f.Enum != nil || f.Message != nil }
	return !slices.ContainsFunc(m.Input.Fields, func(f *protogen.Field) bool { return f.Enum != nil }) &&
		!slices.ContainsFunc(m.Output.Fields, converted)
}

// listed returns the message of which a method without parameters returns a map, if its fields need no conversion.
func listed(m *protogen.Method) *protogen.Message {
	if len(m.Input.Fields) > 0 || len(m.Output.Fields) != 1 || !m.Output.Fields[0].Desc.IsMap() {
		return nil
	}
	return m.Output.Fields[0].Message.Fields[1].Message
}

// checked reports whether a group that checks requests looks at a field.
func checked(f *protogen.Field) bool {
	return f.Message != nil || strings.HasSuffix(strings.ToLower(f.GoName), "path")
}
