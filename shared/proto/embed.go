// Package proto is the contracts as files, with all that they import, as compilers of
// other languages read them.
package proto

import (
	"embed"
	"path"
)

// Files are named as they import each other: herald/users/v1/users.proto.
//
//go:embed buf google herald
var Files embed.FS

// Internal reports whether a file has only methods that services call. The documents do not show it.
func Internal(name string) bool { return path.Base(name) == "internal.proto" }
