module github.com/troupe-go/troupe/examples

go 1.26

require github.com/troupe-go/troupe v0.0.0

replace github.com/troupe-go/troupe => ../
