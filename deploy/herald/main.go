// Command herald is the whole system in one binary: everything in one process, or
// one service of it.
package main

import "herald/deploy/herald/internal/command"

func main() { command.Main(command.Run()) }
