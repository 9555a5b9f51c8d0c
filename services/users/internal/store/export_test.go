package store

// Constraints are the faults of the tables' constraints.
var Constraints = constraints

// UserTexts is the expression by which users are found by a part of a text.
const UserTexts = userTexts
