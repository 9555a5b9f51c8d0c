// Package docs is what the repository and a running gateway show of the same contracts.
// The reference is generated (make generate). The guides, decisions and pictures are made by hand, and
// docs/viewer/vendor.sh fetched the viewer.
package docs

import "embed"

// PublicURL stands in the documents for the address of the instance that serves them.
const PublicURL = "http://localhost:8080"

// Files are the documents that the gateway serves. Large ones are compressed, because they are in every binary.
//
//go:embed openapi.json.gz asyncapi.json.gz protos.zip site.zip viewer/redoc.js.gz viewer/LICENSE
var Files embed.FS
