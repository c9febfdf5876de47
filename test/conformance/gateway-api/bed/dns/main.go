// Command dns stands where the suite wants CoreDNS: the one thing that is asked of it, by a test of UDPRoutes, is to
// answer at all. Each query gets an answer without records.
package main

import (
	"log"
	"net"
)

const (
	headerSize = 12
	isAnswer   = 0x80
	authority  = 0x04
)

func main() {
	socket, err := net.ListenUDP("udp", &net.UDPAddr{Port: 53})
	if err != nil {
		log.Fatal(err)
	}
	buffer := make([]byte, 1500)
	for {
		size, client, err := socket.ReadFromUDPAddrPort(buffer)
		if err != nil {
			log.Fatal(err)
		}
		if answer := answerTo(buffer[:size]); answer != nil {
			if _, err := socket.WriteToUDPAddrPort(answer, client); err != nil {
				log.Print(err)
			}
		}
	}
}

// answerTo turns a query into its answer: the header, counting no records, and the one question.
func answerTo(query []byte) []byte {
	if len(query) < headerSize || query[2]&isAnswer != 0 {
		return nil
	}
	end := headerSize
	for end < len(query) && query[end] != 0 {
		end += 1 + int(query[end])
	}
	// The end of the name, its type and its class.
	end += 5
	if end > len(query) {
		return nil
	}
	answer := query[:end]
	answer[2] |= isAnswer | authority
	copy(answer[4:headerSize], []byte{0, 1, 0, 0, 0, 0, 0, 0})
	return answer
}
