/** Header fields that frame a message or belong to the connection: the gateway writes them itself. */
export const framingFields: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Header fields that no argument of a call sets. Besides those that frame the message, they carry credentials or tell
 * who sent the request. `Accept`, `Content-Type` and `Authorization` are no parameters by OpenAPI, "Parameter Object".
 */
export const serverFields: ReadonlySet<string> = new Set([
  ...framingFields,
  'accept',
  'authorization',
  'cookie',
  'forwarded',
  'proxy-authenticate',
  'proxy-authorization',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
]);
