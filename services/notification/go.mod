module herald/services/notification

go 1.26.0

require (
	github.com/wneessen/go-mail v0.8.1
	golang.org/x/net v0.60.0
	golang.org/x/text v0.43.0
	herald/shared v0.0.0
)

require golang.org/x/crypto v0.58.0 // indirect

replace herald/shared => ../../shared
