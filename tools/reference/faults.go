package main

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	heraldv1 "herald/shared/gen/herald/v1"

	"herald/shared/fault"
)

// Fault is an error that callers can get.
type Fault struct {
	*fault.Fault
	// Owner is the service whose contract declares it, gateway, or shared.
	Owner string
}

// Faults returns the faults that the enums Fault of the contracts declare, sorted by id.
func Faults(files *protoregistry.Files) []Fault {
	var all []Fault
	files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if enum := file.Enums().ByName("Fault"); enum != nil {
			for i := 1; i < enum.Values().Len(); i++ {
				all = append(all, Fault{declared(enum.Values().Get(i)), owner(file)})
			}
		}
		return true
	})
	slices.SortFunc(all, func(a, b Fault) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

func declared(value protoreflect.EnumValueDescriptor) *fault.Fault {
	options := proto.GetExtension(value.Options(), heraldv1.E_Fault).(*heraldv1.FaultOptions)
	f := fault.New(fault.Code(options.GetCode()), string(value.Name()), options.GetMessage())
	if status := options.GetHttpStatus(); status != 0 {
		f = f.WithStatus(int(status))
	}
	return f
}

// owner returns users for herald.users.v1, and shared for herald.v1.
func owner(file protoreflect.FileDescriptor) string {
	parts := strings.Split(string(file.Package()), ".")
	if len(parts) < 3 {
		return "shared"
	}
	return parts[1]
}

// byStatus returns the ids of an operation's faults by the HTTP status with which they come. A contract with the id of
// an unknown fault was refused before, when shared/gen was written.
func byStatus(o Operation, faults []Fault) object {
	ids := map[int][]string{}
	for _, f := range faults {
		if slices.Contains(o.Faults, f.ID) {
			ids[f.HTTPStatus()] = append(ids[f.HTTPStatus()], f.ID)
		}
	}
	var all object
	for _, status := range slices.Sorted(maps.Keys(ids)) {
		all = all.with(strconv.Itoa(status), ids[status])
	}
	return all
}
