import { request, type IncomingMessage } from 'node:http';
import { messageOf } from '../../errorText.ts';
import { GatewayError } from '../../errors.ts';
import { GatheredBytes } from '../../gatheredBytes.ts';
import { consoleHeader, writeConsoleCall, type ConsoleCall, type HeaderLine } from '../../http/index.ts';
import type { ConsoleBackend, ConsoleDoorAddress } from '../../model/index.ts';
import { allowedBy } from '../../policies/index.ts';
import { principalOf } from '../exchange/caller.ts';
import type { LiveExchange } from '../exchange/liveExchange.ts';

/** Bytes of a request body: a configuration in JSON. */
const mostBody = 33_554_432;
/** The headers of a client that the console reads. A credential stays in the data plane. */
const passed: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'content-type',
  'if-match',
  'origin',
  'sec-fetch-dest',
  'sec-fetch-mode',
  'sec-fetch-site',
  'user-agent',
  'x-portcullis-write',
]);
/** The wire of this side writes these headers. */
const own: ReadonlySet<string> = new Set(['connection', 'content-length', 'date', 'keep-alive']);

/**
 * Hands requests of authenticated callers to the console in the main process.
 * @throws Error for rules that do not compile
 */
export function compileConsole(
  { key, operators, logoutPath }: ConsoleBackend,
  door: ConsoleDoorAddress | undefined,
): (exchange: LiveExchange) => void {
  const isOperator = operators === undefined ? () => false : allowedBy(operators, 'ui.operators');
  return (exchange) => {
    exchange.backendChosen(key);
    const principal = principalOf(exchange);
    // A policy may let callers in without a credential; the console never does.
    if (principal === undefined) {
      const by = { policy: 'ui.policies', place: 'ui.policies' };
      exchange.fail(new GatewayError('console_anonymous', { by }));
      return;
    }
    if (door === undefined) {
      exchange.fail(new GatewayError('console_unavailable', { detail: 'this process has no console' }));
      return;
    }
    const { request: of, identity } = exchange;
    const until = identity?.acceptedUntil;
    const call: ConsoleCall = {
      role: isOperator(exchange) ? 'operator' : 'viewer',
      principal,
      name: nameOf(exchange),
      origin: `${of.shownScheme}://${of.shownAuthority}`,
      address: of.remoteAddress,
      port: of.remotePort,
      ...(until !== undefined && { until }),
      ...(logoutPath !== undefined && { logoutPath }),
    };
    // An event stream goes on, and has no limit of time.
    exchange.liftLimits();
    void new ConsoleForward(exchange, door).pass(writeConsoleCall(door.secret, call));
  };
}

/** A name for people; a user chooses it, so it proves nothing. */
function nameOf({ identity, user, apiKey }: LiveExchange): string {
  if (user !== undefined) return user;
  if (apiKey !== undefined) return `key ${apiKey.id}`;
  return `${identity?.subject ?? ''} at ${identity?.issuer ?? ''}`;
}

/** A request on its way to the console, and the response on its way back. */
class ConsoleForward {
  private readonly exchange: LiveExchange;
  private readonly door: ConsoleDoorAddress;

  constructor(exchange: LiveExchange, door: ConsoleDoorAddress) {
    this.exchange = exchange;
    this.door = door;
  }

  /** Never rejects. @param caller the value of the header about the caller */
  async pass(caller: string): Promise<void> {
    const { exchange } = this;
    const ended = new AbortController();
    exchange.onClose(() => ended.abort());
    try {
      const body = await exchange.readBody(mostBody);
      const response = await this.ask(caller, body, ended.signal);
      if (exchange.closed) return;
      if (/^text\/event-stream\b/.test(response.headers['content-type'] ?? '')) this.stream(response);
      else {
        const gathered = new GatheredBytes();
        for await (const part of response) gathered.add(part as Buffer);
        const bytes = gathered.whole();
        exchange.send({ status: response.statusCode ?? 502, headers: linesOf(response), body: bytes });
      }
    } catch (error) {
      if (exchange.closed) return;
      exchange.fail(
        error instanceof GatewayError
          ? error
          : new GatewayError('console_unavailable', { detail: messageOf(error) }),
      );
    }
  }

  private ask(caller: string, body: Buffer, signal: AbortSignal): Promise<IncomingMessage> {
    const { exchange, door } = this;
    const headers = Object.fromEntries(
      exchange.request.headerLines().filter(([name]) => passed.has(name)),
    ) as Record<string, string>;
    return new Promise((resolve, reject) => {
      request({
        socketPath: door.path,
        agent: false,
        method: exchange.method,
        path: exchange.request.target,
        headers: {
          ...headers,
          host: exchange.request.authority,
          connection: 'close',
          'content-length': String(body.length),
          [consoleHeader]: caller,
        },
        setHost: false,
        signal,
      })
        .on('response', resolve)
        .on('error', reject)
        .end(body);
    });
  }

  /** Passes events on while they arrive. A configuration that refuses the caller ends the stream. */
  private stream(response: IncomingMessage): void {
    const { exchange } = this;
    const stream = exchange.open(response.statusCode ?? 200, linesOf(response));
    const forget = exchange.connection.port.keepLongLived(exchange, () => stream.end());
    exchange.onClose(() => {
      forget();
      response.destroy();
    });
    stream.onDrain(() => response.resume());
    response
      .on('data', (part: Buffer) => {
        if (!stream.write(part)) response.pause();
      })
      .once('end', () => stream.end())
      .once('error', () => stream.destroy());
  }
}

const linesOf = ({ headers }: IncomingMessage): readonly HeaderLine[] =>
  Object.entries(headers).flatMap(([name, value]) =>
    own.has(name) || typeof value !== 'string' ? [] : [[name, value] as const],
  );
