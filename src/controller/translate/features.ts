/**
 * The features of the Gateway API v1.6 that a GatewayClass of ours claims: core ones by the name of their kind, extended
 * ones by their own. In the order that `status.supportedFeatures` has to have.
 */
export const supportedFeatures: readonly string[] = [
  ...['Gateway', 'ReferenceGrant', 'ListenerSet', 'GatewayPort8080', 'GatewayAddressEmpty'],
  ...['GatewayStaticAddresses', 'GatewayInfrastructure', 'GatewayHTTPListenerIsolation'],
  ...['GatewayHTTPSListenerDetectMisdirectedRequests', 'GatewayBackendClientCertificate'],
  'GatewayFrontendClientCertificateValidation',
  'GatewayFrontendClientCertificateValidationInsecureFallback',
  ...['BackendTLSPolicy', 'BackendTLSPolicySANValidation'],
  ...['HTTPRoute', 'HTTPRouteMethodMatching', 'HTTPRouteQueryParamMatching', 'HTTPRouteNamedRouteRule'],
  ...['HTTPRouteParentRefPort', 'HTTPRouteDestinationPortMatching'],
  ...['HTTPRouteBackendRequestHeaderModification', 'HTTPRouteResponseHeaderModification'],
  ...['HTTPRoutePortRedirect', 'HTTPRouteSchemeRedirect', 'HTTPRoutePathRedirect'],
  ...['HTTPRoute303RedirectStatusCode', 'HTTPRoute307RedirectStatusCode', 'HTTPRoute308RedirectStatusCode'],
  ...['HTTPRouteHostRewrite', 'HTTPRoutePathRewrite', 'HTTPRouteCORS'],
  ...['HTTPRouteRequestMirror', 'HTTPRouteRequestMultipleMirrors', 'HTTPRouteRequestPercentageMirror'],
  ...['HTTPRouteRequestTimeout', 'HTTPRouteBackendTimeout', 'HTTPRouteBackendProtocolH2C'],
  ...['HTTPRouteBackendProtocolWebSocket', 'HTTPRouteRetry', 'HTTPRouteRetryBackendTimeout'],
  'HTTPRouteRetryConnectionError',
  ...['GRPCRoute', 'GRPCRouteNamedRouteRule'],
  ...['TLSRoute', 'TLSRouteModeTerminate', 'TLSRouteModeMixed', 'TCPRoute', 'UDPRoute'],
].sort();

/** Versions of the CRDs (annotation `bundle-version`) that all of this was made for: before 1.6 not every kind is served as v1. */
export const supportedVersions = /^v1\.6\./;
