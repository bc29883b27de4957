module github.com/troupe-go/troupe/examples

go 1.26

require github.com/troupe-go/troupe v0.0.0

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/lmittmann/tint v1.2.1 // indirect
)

replace github.com/troupe-go/troupe => ../
