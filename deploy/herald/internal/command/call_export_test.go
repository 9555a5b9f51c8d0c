package command

import (
	"io"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Print writes an answer in a format, for a fuzz test.
func Print(w io.Writer, format string, contract protoreflect.MessageDescriptor, answer []byte) error {
	return (&output{format: format}).print(w, contract, answer)
}

// Formats are the formats of answers.
var Formats = formats

// ExitCode returns the exit code for an error.
var ExitCode = exitCode

// New returns the command line of every binary.
func New() *cobra.Command { return root(AllInOne{}) }
