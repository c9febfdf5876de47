import { GatewayError } from '../../errors.ts';
import { renderFields, statusLine, type Head } from '../../http/index.ts';
import type { UpstreamConnection } from '../../upstream/index.ts';
import type { LiveExchange } from '../exchange/liveExchange.ts';

/**
 * Other forms of HTTP never get a tunnel: in it, requests would pass by every rule of the gateway (the attack known as
 * h2c smuggling).
 */
const refused = /^(?:h2c?|http(?:\/.*)?|tls(?:\/.*)?)$/;
const protocol = /^[!#$%&'*+.^_`|~0-9a-z-]+(?:\/[!#$%&'*+.^_`|~0-9a-z-]+)?$/i;

/**
 * The protocols a request asks for in place of HTTP/1.1 (RFC 9110 §7.8), as the backend is asked for them; undefined
 * where it asks for none that may pass. A request with a body keeps to HTTP, as the RFC leaves it to us.
 */
export function wantedUpgrade(exchange: LiveExchange): string | undefined {
  const { head } = exchange;
  if (!head.upgrade || head.http10 || exchange.hasBody) return undefined;
  const wanted = protocolsOf(head).filter((name) => protocol.test(name) && !refused.test(name.toLowerCase()));
  return wanted.length === 0 ? undefined : wanted.join(', ');
}

/** The fields that belong to an upgrade on one hop. */
export const upgradeFields = (protocols: string): string =>
  `connection: upgrade\r\nupgrade: ${protocols}\r\n`;

/** A refusal may name what is needed instead (426, RFC 9110 §15.5.22), and must say that on our hop, too. */
export function neededUpgrade(head: Head): string {
  const needed = head.status === 426 ? protocolsOf(head).filter((name) => protocol.test(name)) : [];
  return needed.length === 0 ? '' : upgradeFields(needed.join(', '));
}

/**
 * Passes the 101 on and makes a tunnel of the two connections. The exchange lasts as long as the tunnel: it is
 * counted and logged when that ends.
 */
export function switchProtocols(
  exchange: LiveExchange,
  upstream: UpstreamConnection,
  wanted: string,
  answer: { readonly head: Head; readonly bytes: Buffer; readonly from: number; readonly to: number },
): void {
  const { head, bytes, from, to } = answer;
  const chosen = protocolsOf(head);
  const asked = wanted.toLowerCase().split(', ');
  if (chosen.length === 0 || chosen.some((name) => !asked.includes(name.toLowerCase()))) {
    upstream.abandon();
    exchange.abort(
      new GatewayError('upstream_protocol', {
        detail: `${upstream.endpoint.name}: an upgrade to what nobody asked for`,
      }),
    );
    return;
  }
  if (!exchange.begin(101, head)) return;
  exchange.affinity?.answered(exchange, upstream.endpoint);
  const out =
    statusLine(101) +
    renderFields(head, exchange.snapshot.drop.responseNewFraming, exchange.pendingResponseEdits) +
    upgradeFields(chosen.join(', ')) +
    '\r\n';
  exchange.responseBytes = out.length;
  exchange.connection.write(out);
  exchange.connection.tunnelTo(exchange, upstream, bytes, from, to);
}

const protocolsOf = (head: Head): string[] =>
  (head.get('upgrade') ?? '')
    .split(',')
    .map((name) => name.replaceAll(/^[ \t]+|[ \t]+$/g, ''))
    .filter((name) => name !== '');
