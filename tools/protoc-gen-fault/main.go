// Command protoc-gen-fault is a plugin of buf that writes a Go value for each value of an enum Fault of the contracts:
// usersfault.ErrUserNotFound for USER_NOT_FOUND of herald.users.v1. Those of herald.v1 are in package fault itself.
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"io"
	"os"
	"slices"
	"strings"
	"text/template"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "protoc-gen-fault:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	request, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	written, err := generate(request)
	if err != nil {
		return err
	}
	answer, err := proto.Marshal(written)
	if err != nil {
		return err
	}
	_, err = out.Write(answer)
	return err
}

// generate answers a request of buf.
func generate(request []byte) (*pluginpb.CodeGeneratorResponse, error) {
	var asked pluginpb.CodeGeneratorRequest
	if err := proto.Unmarshal(request, &asked); err != nil {
		return nil, err
	}
	files, err := protodesc.NewFiles(&descriptorpb.FileDescriptorSet{File: asked.ProtoFile})
	if err != nil {
		return nil, err
	}
	// The plugin reads our options from the request, because it must not need the code that it helps to generate.
	asked.Reset()
	if err := (proto.UnmarshalOptions{Resolver: dynamicpb.NewTypes(files)}).Unmarshal(request, &asked); err != nil {
		return nil, err
	}
	if files, err = protodesc.NewFiles(&descriptorpb.FileDescriptorSet{File: asked.ProtoFile}); err != nil {
		return nil, err
	}
	optional := uint64(pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL)
	answer := &pluginpb.CodeGeneratorResponse{SupportedFeatures: &optional}
	ids := map[protoreflect.Name]protoreflect.FullName{}
	for _, name := range asked.FileToGenerate {
		file, err := files.FindFileByPath(name)
		if err != nil {
			return nil, err
		}
		enum := file.Enums().ByName("Fault")
		if enum == nil {
			continue
		}
		written, err := write(enum, ids)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		answer.File = append(answer.File, written)
	}
	return answer, nil
}

// declared is a fault as the template shows it.
type declared struct {
	Name, Code, ID, Message, Field, Reason string
	Comment                                []string
	Status, After                          uint64
}

// codes are the names of package fault for the codes of the contracts.
var codes = map[string]string{
	"INVALID_ARGUMENT": "Invalid", "DEADLINE_EXCEEDED": "Deadline", "NOT_FOUND": "NotFound", "ALREADY_EXISTS": "Exists",
	"PERMISSION_DENIED": "Denied", "RESOURCE_EXHAUSTED": "Exhausted", "FAILED_PRECONDITION": "Precondition",
	"UNIMPLEMENTED": "Unimplemented", "INTERNAL": "Internal", "UNAVAILABLE": "Unavailable",
	"UNAUTHENTICATED": "Unauthenticated",
}

// read returns the faults of an enum. It refuses ids that another enum has.
func read(enum protoreflect.EnumDescriptor, ids map[protoreflect.Name]protoreflect.FullName) ([]declared, error) {
	var all []declared
	for i := 1; i < enum.Values().Len(); i++ {
		value := enum.Values().Get(i)
		if other, taken := ids[value.Name()]; taken {
			return nil, fmt.Errorf("%s stands in %s too", value.Name(), other)
		}
		ids[value.Name()] = enum.FullName()
		f := declared{Name: nameOf(string(value.Name())), ID: string(value.Name())}
		value.Options().ProtoReflect().Range(func(option protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			if option.FullName() == "herald.v1.fault" {
				f.fill(v.Message())
			}
			return true
		})
		if f.Code == "" || f.Message == "" {
			return nil, fmt.Errorf("%s lacks its code or its message", f.ID)
		}
		for line := range strings.Lines(enum.ParentFile().SourceLocations().ByDescriptor(value).LeadingComments) {
			f.Comment = append(f.Comment, strings.TrimSpace(line))
		}
		all = append(all, f)
	}
	return all, nil
}

func (f *declared) fill(option protoreflect.Message) {
	fields := option.Descriptor().Fields()
	get := func(name protoreflect.Name) protoreflect.Value { return option.Get(fields.ByName(name)) }
	code := fields.ByName("code").Enum().Values().ByNumber(get("code").Enum())
	f.Code, f.Message = codes[string(code.Name())], get("message").String()
	f.Field, f.Reason = get("field").String(), get("reason").String()
	f.Status, f.After = get("http_status").Uint(), get("retry_after").Uint()
}

// initialisms are the words that Go's names have in upper case.
var initialisms = []string{"API", "IAM", "ID", "JSON", "OIDC", "OTP", "PAT"}

// nameOf returns the Go name of an id: ErrUserNotFound for USER_NOT_FOUND.
func nameOf(id string) string {
	name := "Err"
	for word := range strings.SplitSeq(id, "_") {
		if !slices.Contains(initialisms, word) {
			word = word[:1] + strings.ToLower(word[1:])
		}
		name += word
	}
	return name
}

var code = template.Must(template.New("").Parse(`// Code generated by protoc-gen-fault from {{.Source}}. DO NOT EDIT.

{{with .Of}}// Package {{$.Package}} holds the faults of herald.{{.}}.v1.
// errors.Is finds them in the answer of a call too.
{{end}}package {{.Package}}
{{- if .Of}}

import {{if .Times}}(
	"time"

	"herald/shared/fault"
){{else}}"herald/shared/fault"{{end}}
{{- else}}

{{if .Times}}import "time"{{end}}
{{- end}}

// Faults of {{.Source}}.
var (
{{- range .Faults}}
{{- range .Comment}}
	// {{.}}
{{- end}}
	{{.Name}} = {{$.Prefix}}New({{$.Prefix}}{{.Code}}, {{printf "%q" .ID}}, {{printf "%q" .Message}})
	{{- with .Status}}.WithStatus({{.}}){{end}}
	{{- with .After}}.After({{.}} * time.Second){{end}}
	{{- if .Field}}.On({{printf "%q" .Field}}, {{printf "%q" .Reason}}){{end}}
{{- end}}
)
`))

// write returns the Go file of an enum.
func write(enum protoreflect.EnumDescriptor, ids map[protoreflect.Name]protoreflect.FullName) (
	*pluginpb.CodeGeneratorResponse_File, error,
) {
	faults, err := read(enum, ids)
	if err != nil {
		return nil, err
	}
	// herald.users.v1, or herald.v1 for what is shared
	of := strings.Trim(strings.TrimSuffix(strings.TrimPrefix(string(enum.ParentFile().Package()), "herald"), "v1"), ".")
	name, pkg, prefix := "shared/fault/declared.go", "fault", ""
	if of != "" {
		pkg, prefix = of+"fault", "fault."
		name = "shared/gen/fault/" + pkg + "/" + pkg + ".go"
	}
	var b bytes.Buffer
	if err := code.Execute(&b, map[string]any{
		"Source": enum.ParentFile().Path(), "Of": of, "Package": pkg, "Prefix": prefix, "Faults": faults,
		"Times": slices.ContainsFunc(faults, func(f declared) bool { return f.After > 0 }),
	}); err != nil {
		return nil, err
	}
	formatted, err := format.Source(b.Bytes())
	if err != nil {
		return nil, err
	}
	return &pluginpb.CodeGeneratorResponse_File{Name: &name, Content: proto.String(string(formatted))}, nil
}
