module github.com/troupe-go/troupe/examples

go 1.26

require (
	github.com/google/uuid v1.6.0
	github.com/lmittmann/tint v1.2.1
	github.com/troupe-go/troupe v0.0.0
)

require (
	github.com/fxamacker/cbor/v2 v2.10.0 // indirect
	github.com/x448/float16 v0.8.4 // indirect
)

replace github.com/troupe-go/troupe => ../
