import { readEnvelope, type Envelope } from './envelope.ts';

/** A message that the gateway has written. */
export function readOwn(text: string): Envelope {
  const message = readEnvelope(text);
  if (typeof message === 'string') throw new Error(`the gateway wrote a message that is none: ${message}`);
  return message;
}

/** The members `method` and `params` of a message. @param params JSON text of an object */
export const methodMembers = (method: string, params: string | undefined): string =>
  `"method":${JSON.stringify(method)}${params === undefined ? '' : `,"params":${params}`}`;

/** A request to a client. @param id as the gateway calls it @param params JSON text of an object */
export const ownQuestion = (id: number, method: string, params: string | undefined): Envelope =>
  readOwn(`{"jsonrpc":"2.0","id":${id},${methodMembers(method, params)}}`);

/**
 * A message of the gateway, read as one of a client is. Its id is replaced on the wire.
 * @param params JSON text of an object
 */
export const ownMessage = (method: string, params?: string): Envelope => ownQuestion(0, method, params);

/** A notification of the gateway. @param params JSON text of an object */
export const ownNotification = (method: string, params?: string): Envelope =>
  readOwn(`{"jsonrpc":"2.0",${methodMembers(method, params)}}`);

/** A response of the gateway in the place of a server. Its id is replaced. @param result JSON text of an object */
export const ownResult = (result: string): Envelope => readOwn(`{"jsonrpc":"2.0","id":0,"result":${result}}`);

/** The same with an error. */
export const ownError = (code: number, message: string): Envelope =>
  readOwn(`{"jsonrpc":"2.0","id":0,"error":${JSON.stringify({ code, message })}}`);
