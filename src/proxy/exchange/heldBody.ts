import { GatewayError } from '../../errors.ts';
import { GatheredBytes } from '../../gatheredBytes.ts';
import { Body } from '../../http/index.ts';
import type { LiveExchange } from './liveExchange.ts';
import type { BodyConsumer, HeldBody } from './receivedRequest.ts';

/** Bytes of the framing for each byte of the payload, at most, in chunks of one byte each. */
const mostFraming = 8;

/**
 * Reads the whole request body and keeps it: whoever asks for the body afterwards gets it from here.
 * @throws GatewayError where it is larger than the limit, broken, or cut off
 */
export async function holdBody(exchange: LiveExchange, limitBytes: number): Promise<Buffer> {
  const held = exchange.heldBody ?? (await gather(exchange, limitBytes));
  if (held.payload.length > limitBytes) throw tooLarge();
  exchange.heldBody = held;
  // A retry asks whether somebody has taken the body: the policy that holds it does not count.
  exchange.consumer = undefined;
  return held.payload;
}

const tooLarge = (): GatewayError => new GatewayError('body_too_large');

function gather(exchange: LiveExchange, limitBytes: number): Promise<HeldBody> {
  const { contentLength, chunked } = exchange.head;
  if (contentLength > limitBytes) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const gathered = new GatheredBytes(contentLength);
    let settled = false;
    const refuse = (error: GatewayError): void => {
      settled = true;
      reject(error);
    };
    exchange.onClose(() => {
      if (!settled) refuse(new GatewayError('bad_request', { detail: 'the client left' }));
    });
    exchange.connection.consume(exchange, {
      raw: true,
      take(bytes, from, to, done) {
        if (settled) return;
        gathered.add(bytes, from, to);
        const isLong = gathered.length > limitBytes * mostFraming;
        if (isLong || exchange.body.payload > limitBytes) {
          refuse(tooLarge());
          return;
        }
        if (!done) return;
        settled = true;
        const raw = gathered.takeWhole();
        resolve({ raw, payload: chunked ? payloadOf(raw) : raw });
      },
      fail: refuse,
    });
  });
}

/** The content of chunks that were read before. */
function payloadOf(raw: Buffer): Buffer {
  const body = new Body();
  const payload = new GatheredBytes();
  body.startChunked();
  body.take(raw, 0, raw.length, (bytes, from, to) => payload.add(bytes, from, to));
  return payload.takeWhole();
}

/** Gives the request body to a consumer, from its first byte: from the connection, or where it was read before. */
export function consumeBody(exchange: LiveExchange, consumer: BodyConsumer): void {
  const { heldBody } = exchange;
  if (heldBody === undefined) {
    exchange.connection.consume(exchange, consumer);
    return;
  }
  exchange.consumer = consumer;
  const bytes = consumer.raw ? heldBody.raw : heldBody.payload;
  consumer.take(bytes, 0, bytes.length, true);
}
