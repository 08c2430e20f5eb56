module goapp

go 1.19
