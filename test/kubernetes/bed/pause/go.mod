module portcullis.dev/test/pause

go 1.24
