package store

// Constraints are the faults that the constraints of the tables mean.
var Constraints = constraints
