/**
 * The params of `initialize`, as JSON text, where the gateway itself is the client of a server. Nobody would answer
 * questions of the server, so it declares no capabilities.
 * @param version of the program
 */
export const gatewayAsClient = (protocolVersion: string, version: string): string =>
  JSON.stringify({ protocolVersion, capabilities: {}, clientInfo: { name: 'portcullis', version } });
