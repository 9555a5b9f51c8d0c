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
replace herald/services/auth => ../../services/auth
