// Package docs is what the repository and a running gateway show of the same contracts.
// All of it is generated (make generate) but for the viewer, which docs/viewer/vendor.sh
// fetched.
package docs

import "embed"

// Files are the documents that the gateway serves.
//
//go:embed openapi.json asyncapi.json site viewer/redoc.js.gz viewer/LICENSE
var Files embed.FS
