//go:build images

package suite

// The app that the suite sends its requests to; named here so that it is of the same version.
import _ "sigs.k8s.io/gateway-api/conformance/echo-basic"
