/** Environment variables that hold secrets of the gateway itself, besides those that its configuration names. */
export const secretVariables: readonly string[] = [
  'SESSION_KEY',
  'OIDC_COOKIE_SECRET',
  'XDS_AUTH_TOKEN',
  'CA_AUTH_TOKEN',
  'OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
  'PORTCULLIS_CLIENT_SECRET',
  'PORTCULLIS_TOKEN',
];

/**
 * Names the descriptor on which a program finds further variables of its environment, as JSON: secrets, which have no
 * place in the block that other processes can read. `bin/portcullis` reads it.
 */
export const environmentVariable = 'PORTCULLIS_ENVIRONMENT';
