module apf.invalid/bindings/go

go 1.25
