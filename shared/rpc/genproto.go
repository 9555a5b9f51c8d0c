//go:build tidy

package rpc

// go-kit's old transports require the genproto of 2021, a single module that its
// successors were split from: both would provide the same packages. This import,
// which is never built, holds the module at a version that has given them up.
import _ "google.golang.org/genproto/googleapis/type/dayofweek"
