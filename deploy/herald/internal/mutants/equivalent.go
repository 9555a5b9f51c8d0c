package main

// equivalent are the checks without which the system does the same, by their names in the list, with
// the reason.
var equivalent = map[string]string{}
