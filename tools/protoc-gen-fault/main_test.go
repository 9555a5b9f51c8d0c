package main

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// Each value of an enum Fault becomes a Go value. A fault without a code and an id of two contracts are refused, and so
// is a method with the id of a fault that no contract declares.
func TestFaultOfTheContractBecomesAGoValue(t *testing.T) {
	t.Parallel()
	const option = `[herald.v1.fault] { code: NOT_FOUND message: "Gone" }`
	for name, c := range map[string]struct{ pkg, values, want string }{
		"of a service": {"herald.users.v1", value("USER_ID_GONE", option),
			`ErrUserIDGone = fault.New(fault.NotFound, "USER_ID_GONE", "Gone")`},
		"shared": {"herald.v1", value("GONE", option), `ErrGone = New(NotFound, "GONE", "Gone")`},
		"with all": {"herald.users.v1", value("GONE", `[herald.v1.fault] {
			code: INVALID_ARGUMENT message: "a \"b\"" http_status: 413 retry_after: 60 field: "f" reason: "r" }`),
			`fault.New(fault.Invalid, "GONE", "a \"b\"").WithStatus(413).After(60*time.Second).On("f", "r")`},
		"without code": {"herald.users.v1", value("GONE", `[herald.v1.fault] { message: "Gone" }`),
			"GONE lacks its code"},
		"without option": {"herald.users.v1", value("GONE", ""), "GONE lacks its code"},
		"twice":          {"herald.users.v1", value("TAKEN", option), "TAKEN stands in herald.idp.v1.Fault too"},
		"of a method": {"herald.users.v1", value("GONE", option) + method("GONE", "TAKEN"),
			`"GONE", "Gone"`},
		"of a method, unknown": {"herald.users.v1", value("GONE", option) + method("GONE", "LOST"),
			"no enum Fault has the value LOST of herald.v1.faults of Get"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := generate(request(t, c.pkg, c.values))
			var got string
			if err != nil {
				got = err.Error()
			} else {
				got = answer.File[1].GetContent()
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("%s\nlacks %s", got, c.want)
			}
		})
	}
}

func value(id, option string) string {
	return `value { name: "FAULT_UNSPECIFIED" number: 0 }
		value { name: "` + id + `" number: 1 options { ` + option + ` } }`
}

// method ends the enum, and adds a method with these ids in its option faults.
func method(ids ...string) string {
	text := `} message_type { name: "M" } service { name: "S"
		method { name: "Get" input_type: ".herald.users.v1.M" output_type: ".herald.users.v1.M" options { `
	for _, id := range ids {
		text += `[herald.v1.faults]: "` + id + `" `
	}
	return text + "} }"
}

// options is what the plugin needs of herald/v1/options.proto.
const options = `name: "options.proto" package: "herald.v1" syntax: "proto3"
	dependency: "google/protobuf/descriptor.proto"
	extension { name: "fault" number: 84001 label: LABEL_OPTIONAL type: TYPE_MESSAGE
		type_name: ".herald.v1.FaultOptions" extendee: ".google.protobuf.EnumValueOptions" }
	extension { name: "faults" number: 84002 label: LABEL_REPEATED type: TYPE_STRING
		extendee: ".google.protobuf.MethodOptions" }
	message_type { name: "FaultOptions"
		field { name: "code" number: 1 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".herald.v1.FaultOptions.Code" }
		field { name: "message" number: 2 label: LABEL_OPTIONAL type: TYPE_STRING }
		field { name: "http_status" number: 3 label: LABEL_OPTIONAL type: TYPE_UINT32 }
		field { name: "retry_after" number: 4 label: LABEL_OPTIONAL type: TYPE_UINT32 }
		field { name: "field" number: 5 label: LABEL_OPTIONAL type: TYPE_STRING }
		field { name: "reason" number: 6 label: LABEL_OPTIONAL type: TYPE_STRING }
		enum_type { name: "Code" value { name: "UNSPECIFIED" number: 0 } value { name: "INVALID_ARGUMENT" number: 3 }
			value { name: "NOT_FOUND" number: 5 } } }`

// request returns what buf asks for two files: one of herald.idp.v1 with the fault TAKEN, and one with these values.
func request(t *testing.T, pkg, values string) []byte {
	t.Helper()
	asked := &pluginpb.CodeGeneratorRequest{FileToGenerate: []string{"idp.proto", "asked.proto"}}
	asked.ProtoFile = append(asked.ProtoFile,
		protodesc.ToFileDescriptorProto(descriptorpb.File_google_protobuf_descriptor_proto))
	resolver := &dynamicpb.Types{}
	for _, text := range []string{
		options,
		`name: "idp.proto" package: "herald.idp.v1" dependency: "options.proto" syntax: "proto3"
			enum_type { name: "Fault" ` + value("TAKEN", `[herald.v1.fault] { code: NOT_FOUND message: "Gone" }`) + `}`,
		`name: "asked.proto" package: "` + pkg + `" dependency: "options.proto" syntax: "proto3"
			enum_type { name: "Fault" ` + values + `}`,
	} {
		var file descriptorpb.FileDescriptorProto
		if err := (prototext.UnmarshalOptions{Resolver: resolver}).Unmarshal([]byte(text), &file); err != nil {
			t.Fatal(err)
		}
		asked.ProtoFile = append(asked.ProtoFile, &file)
		files, err := protodesc.NewFiles(&descriptorpb.FileDescriptorSet{File: asked.ProtoFile})
		if err != nil {
			t.Fatal(err)
		}
		resolver = dynamicpb.NewTypes(files)
	}
	data, err := proto.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
