// Package proto is the contracts as files, with all that they import, as compilers of
// other languages read them.
package proto

import "embed"

// Files are named as they import each other: herald/users/v1/users.proto.
//
//go:embed buf google herald
var Files embed.FS
