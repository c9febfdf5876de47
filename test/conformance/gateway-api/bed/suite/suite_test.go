// Package suite makes a program of the conformance suite of the Gateway API, with all flags of its own.
package suite

import (
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
	_ "sigs.k8s.io/gateway-api/conformance/utils/flags"
)

func TestGatewayAPI(t *testing.T) { conformance.RunConformance(t) }
