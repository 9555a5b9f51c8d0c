package command

// Printers are for the fuzzing of what instances answer.
var Printers = []printer{printJSON, printTable}
