module sample-go

go 1.21
