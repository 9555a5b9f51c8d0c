module herald/docs

go 1.26.0
