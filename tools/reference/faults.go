package main

import (
	"cmp"
	"fmt"
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

// checkFaults refuses an operation with the id of a fault that no contract declares.
func checkFaults(operations []Operation, faults []Fault) error {
	for _, o := range operations {
		for _, id := range o.Faults {
			if _, found := search(faults, id); !found {
				return fmt.Errorf("contract of %s: no enum Fault has the value %s of herald.v1.faults",
					o.FullName(), id)
			}
		}
	}
	return nil
}

// byStatus returns the ids of an operation's faults by the HTTP status with which they come.
func byStatus(o Operation, faults []Fault) object {
	ids := map[int][]string{}
	for _, id := range o.Faults {
		i, _ := search(faults, id)
		status := faults[i].HTTPStatus()
		ids[status] = append(ids[status], id)
	}
	var all object
	for _, status := range slices.Sorted(maps.Keys(ids)) {
		all = all.with(strconv.Itoa(status), ids[status])
	}
	return all
}

func search(faults []Fault, id string) (int, bool) {
	return slices.BinarySearchFunc(faults, id, func(f Fault, id string) int { return cmp.Compare(f.ID, id) })
}
