package protocol

import "herald/shared/outbound"

// Said returns at most the first 200 bytes of a parameter, for logs.
func Said(parameter string) string { return outbound.Said(parameter) }
