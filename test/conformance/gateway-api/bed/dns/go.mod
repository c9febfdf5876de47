module portcullis.dev/testbed/dns

go 1.26.0
