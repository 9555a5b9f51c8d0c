package command

import "github.com/spf13/cobra"

// Printers are the printers of answers, for a fuzz test.
var Printers = []printer{printJSON, printTable}

// ExitCode returns the exit code for an error.
var ExitCode = exitCode

// New returns the command line of every binary.
func New() *cobra.Command { return root(nil) }
