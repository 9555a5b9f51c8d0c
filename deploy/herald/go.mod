module herald/deploy/herald

go 1.26.0

require herald/shared v0.0.0

replace herald/shared => ../../shared

require herald/gateway v0.0.0

replace herald/gateway => ../../gateway

require herald/services/users v0.0.0

replace herald/services/users => ../../services/users

require herald/services/text v0.0.0

replace herald/services/text => ../../services/text

require herald/services/notification v0.0.0

replace herald/services/notification => ../../services/notification

require herald/services/auth v0.0.0

require (
	github.com/emersion/go-message v0.18.2 // indirect
	github.com/emersion/go-sasl v0.0.0-20241020182733-b788ff22d5a6 // indirect
	github.com/emersion/go-smtp v0.25.1 // indirect
	github.com/google/uuid v1.6.0 // indirect
	golang.org/x/net v0.60.0 // indirect
)

replace herald/services/auth => ../../services/auth
