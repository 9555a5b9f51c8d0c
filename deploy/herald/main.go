// Command herald is the whole system in one binary. It runs everything in one process, or a single
// service.
package main

import (
	"herald/deploy/herald/internal/allinone"
	"herald/deploy/herald/internal/command"
)

func main() {
	command.Main(command.AllInOne{Run: run(), Verify: command.BackupVerify(allinone.Servers, allinone.Run),
		Servers: allinone.Servers})
}
