module herald/tools/structure

go 1.26.0
