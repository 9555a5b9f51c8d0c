package mutant

// numbers are the numbers of the checks that contracts ask for, by check and method. A run replaces
// this file.
var numbers = map[string]int{}
