module herald/services/auth

go 1.26.0
require herald/shared v0.0.0
replace herald/shared => ../../shared
