module github.com/troupe-go/troupe/replay

go 1.26.0

replace github.com/troupe-go/troupe => ../

require (
	github.com/tetratelabs/wazero v1.12.0
	github.com/troupe-go/troupe v0.0.0
)

require (
	github.com/fxamacker/cbor/v2 v2.10.0 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	golang.org/x/sys v0.44.0 // indirect
)
