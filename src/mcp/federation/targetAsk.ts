/** Requests of the gateway itself to one target of several. */

import type { GatewayError } from '../../errors.ts';
import { readEnvelope, type Envelope } from '../json/envelope.ts';
import type { CallLimit } from '../limits/callTimeouts.ts';
import type { TargetConnection } from '../targets/kind/target.ts';

/** A message of the gateway, read as one of a client is. Its id is replaced on the wire. */
export function ownMessage(method: string, params?: string): Envelope {
  const rest = params === undefined ? '' : `,"params":${params}`;
  const message = readEnvelope(`{"jsonrpc":"2.0","id":0,"method":${JSON.stringify(method)}${rest}}`);
  if (typeof message === 'string') throw new Error(`the gateway wrote a message that is none: ${message}`);
  return message;
}

/**
 * Sends a request to a target.
 * @param params JSON text of an object
 * @returns the response, which may be a JSON-RPC error; the promise rejects with a GatewayError where there is none
 */
export async function ask(
  target: TargetConnection,
  method: string,
  params: string | undefined,
  limit: CallLimit,
): Promise<Envelope> {
  const { promise, resolve, reject } = Promise.withResolvers<Envelope>();
  target.call(
    { envelope: ownMessage(method, params), token: undefined, edits: [], limit },
    { answered: resolve, failed: (error: GatewayError) => reject(error) },
  );
  return await promise;
}
