package command

import "github.com/spf13/cobra"

// Printers are for the fuzzing of what instances answer.
var Printers = []printer{printJSON, printTable}

// ExitCode is how the process ends.
var ExitCode = exitCode

// New is the command line of every binary.
func New() *cobra.Command { return root(nil) }
