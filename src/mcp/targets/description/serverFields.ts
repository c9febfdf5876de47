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

const keptFields: ReadonlySet<string> = new Set([
  ...framingFields,
  'accept',
  'authorization',
  'cookie',
  'forwarded',
  'proxy-authenticate',
  'proxy-authorization',
  'via',
  'x-real-ip',
]);

/**
 * Is this a header field that no argument of a call sets? Besides those that frame the message, they carry credentials
 * or tell who sent the request. `Accept`, `Content-Type` and `Authorization` are no parameters by OpenAPI, "Parameter
 * Object".
 * @param name in small letters
 */
export const isServerField = (name: string): boolean =>
  keptFields.has(name) || name.startsWith('x-forwarded-');
