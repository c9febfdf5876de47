// Reads the bytes of connections as net/http does. One JSON string a line, base64, comes in; one object a line goes out.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
)

type message struct {
	Start  string `json:"start"`
	Target string `json:"target"`
	Host   string `json:"host"`
	Body   string `json:"body"`
}

type reading struct {
	Messages []message `json:"messages"`
	Refusal  *string   `json:"refusal"`
	Closed   bool      `json:"closed"`
}

func read(data []byte) reading {
	result := reading{Messages: []message{}}
	source := bufio.NewReader(bytes.NewReader(data))
	for {
		request, err := http.ReadRequest(source)
		if err == nil {
			var body []byte
			body, err = io.ReadAll(request.Body)
			if err == nil {
				result.Messages = append(result.Messages, message{
					request.Method, request.RequestURI, request.Host, base64.StdEncoding.EncodeToString(body),
				})
				if request.Close {
					result.Closed = true
					return result
				}
				continue
			}
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			text := err.Error()
			result.Refusal = &text
		}
		return result
	}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	for lines.Scan() {
		var encoded string
		if err := json.Unmarshal(lines.Bytes(), &encoded); err != nil {
			panic(err)
		}
		data, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			panic(err)
		}
		answer, err := json.Marshal(map[string]reading{"net/http": read(data)})
		if err != nil {
			panic(err)
		}
		output.Write(append(answer, '\n'))
	}
}
