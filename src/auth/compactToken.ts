import { isAlgorithm, type Algorithm } from './algorithms.ts';
import { decodeBase64url } from './base64url.ts';
import { parseStrictObject } from './json.ts';
import { receivedValue, shown } from './shown.ts';
import type { TokenReason } from './tokenReason.ts';

/** Longest token, in characters; larger ones would not fit into most servers' headers anyway. */
export const maxTokenLength = 16_384;

/** A token taken apart; nothing in it is verified yet. */
export interface CompactToken {
  readonly algorithm: Algorithm;
  /** Empty where the token names no key, and need not. */
  readonly kid: string;
  readonly claims: Record<string, unknown>;
  readonly signed: Buffer;
  readonly signature: Buffer;
}

/** The reason why a token cannot be read; `detail` has the expected and the received value, for the log. */
export interface UnreadableToken {
  readonly reason: TokenReason;
  readonly detail?: string;
}

/** The headers that a kind of token may have. */
export interface TokenForm {
  /** The media types that `typ` may name, without `application/`. A token with another one is made for something else. */
  readonly types: readonly string[];
  readonly needsKeyId: boolean;
}

/** RFC 7519 §5.1, RFC 9068 §2.1. */
const accessToken: TokenForm = { types: ['JWT', 'at+jwt'], needsKeyId: true };

/** Reads the compact form of RFC 7515 §3.1 strictly, or says what is wrong with it. */
export function readCompactToken(token: string, form = accessToken): CompactToken | UnreadableToken {
  if (token.length > maxTokenLength) return { reason: 'too_large' };
  const first = token.indexOf('.');
  const second = token.indexOf('.', first + 1);
  if (first <= 0 || second <= first + 1 || second === token.length - 1) return { reason: 'malformed' };
  if (token.includes('.', second + 1)) return { reason: 'malformed' };
  const head = decodeBase64url(token.slice(0, first));
  const body = decodeBase64url(token.slice(first + 1, second));
  const signature = decodeBase64url(token.slice(second + 1));
  if (head === undefined || body === undefined || signature === undefined) return { reason: 'malformed' };

  const header = parseStrictObject(head);
  if (header === undefined) return { reason: 'header' };
  const { alg, kid, typ } = header;
  if (!isAlgorithm(alg))
    return {
      reason: typeof alg === 'string' ? 'algorithm' : 'header',
      detail: `alg: expected an asymmetric algorithm, received ${receivedValue(alg)}`,
    };
  // RFC 7515 §4.1.11: an extension we do not know must not be ignored; we know none. `b64` changes what is signed
  // (RFC 7797 §6) and is valid only as such an extension.
  if (header.crit !== undefined || header.b64 !== undefined) return { reason: 'critical' };
  if (typ !== undefined && !(typeof typ === 'string' && isOf(typ, form)))
    return { reason: 'type', detail: `typ: expected ${shown(form.types)}, received ${receivedValue(typ)}` };
  // jku, x5u, jwk and x5c name keys of the sender's choice (RFC 8725 §2.8): never followed, never used.
  if (kid === undefined && form.needsKeyId) return { reason: 'no_key_id' };
  if (kid !== undefined && typeof kid !== 'string') return { reason: 'header' };

  const claims = parseStrictObject(body);
  if (claims === undefined) return { reason: 'claims' };
  const signed = Buffer.from(token.slice(0, second), 'latin1');
  return { algorithm: alg, kid: kid ?? '', claims, signed, signature };
}

function isOf(typ: string, { types }: TokenForm): boolean {
  const named = typ.toLowerCase().replace(/^application\//, '');
  return types.some((type) => type.toLowerCase() === named);
}
