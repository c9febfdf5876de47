import { GatewayError } from '../../errors.ts';
import { GatheredBytes } from '../../gatheredBytes.ts';
import { consumeBody } from './heldBody.ts';
import type { LiveExchange } from './liveExchange.ts';

/** The whole request body. @throws GatewayError where it is larger than the limit, broken, or cut off */
export function gatherBody(exchange: LiveExchange, limitBytes: number): Promise<Buffer> {
  const known = exchange.head.contentLength;
  if (known > limitBytes) return Promise.reject(new GatewayError('body_too_large'));
  return new Promise((resolve, reject) => {
    const gathered = new GatheredBytes(known);
    let refused = false;
    let whole = false;
    // Runs at the end of every exchange: an error, with its stack, is made only for a body that was cut off.
    exchange.onClose(() => {
      if (!whole) reject(new GatewayError('bad_request', { detail: 'the client left' }));
    });
    consumeBody(exchange, {
      raw: false,
      take(bytes, from, to, done) {
        if (gathered.length + to - from > limitBytes) {
          refused = true;
          reject(new GatewayError('body_too_large'));
        }
        if (refused) return;
        if (!done) {
          gathered.add(bytes, from, to);
          return;
        }
        whole = true;
        resolve(gathered.finish(bytes, from, to));
      },
      fail: reject,
    });
  });
}
