// Command container is herald as the image of the containers holds it: everything but
// `herald run`, as Postgres, NATS and the inbox have containers of their own.
package main

import "herald/deploy/herald/internal/command"

func main() { command.Main() }
