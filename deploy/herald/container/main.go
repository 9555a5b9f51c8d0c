// Command container is the herald of the containers' image. It lacks `herald run`, because
// Postgres, NATS and the inbox have containers of their own.
package main

import "herald/deploy/herald/internal/command"

func main() { command.Main(command.AllInOne{}) }
