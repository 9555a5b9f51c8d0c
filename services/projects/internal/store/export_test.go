package store

// Constraints are the faults of the tables' constraints.
var Constraints = constraints
