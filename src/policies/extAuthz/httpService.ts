import { fromCel, type CelContext, type Program } from '../../cel/index.ts';
import { NotEvaluated } from '../../errors.ts';
import type { HeaderLine } from '../../http/index.ts';
import { compiled } from '../attributes/compiled.ts';
import { answerContext, contextFor } from '../attributes/context.ts';
import { authorizedAttributes, requestAttributes } from '../attributes/declared.ts';
import { evaluate } from '../attributes/evaluate.ts';
import { JsonValues } from '../attributes/jsonValues.ts';
import { CallSlots } from '../callSlots.ts';
import { clientHeaders } from '../clientHeaders.ts';
import { headerText } from '../fields/headerText.ts';
import { mostDecisionBytes, serverAddress } from '../grpcServer.ts';
import type { Exchange, Host, HostAnswer, PolicyTools } from '../policy.ts';
import { withAskedRequest } from '../seenRequest.ts';
import { allowedAsIs, deniedReply, type Decision } from './decision.ts';
import type { ExtAuthzSettings, HttpProtocol } from './facts.ts';
import { failed, isDecision, NoDecision, type Service } from './service.ts';

/** A service that decides by the status of its answer. */
export class HttpService implements Service {
  readonly name: string;
  readonly ownHeaders: readonly string[];
  private readonly settings: ExtAuthzSettings;
  private readonly host: Host;
  private readonly slots: CallSlots;
  private readonly programs: Readonly<Record<'path' | 'redirect' | 'body', Program | undefined>>;
  private readonly added: readonly (readonly [name: string, program: Program])[];
  private readonly contextOf: (exchange: Exchange) => CelContext;
  private readonly metadata: JsonValues;

  /** @throws Error where an expression does not compile, or a file of the TLS settings cannot be used */
  constructor(settings: ExtAuthzSettings, protocol: HttpProtocol, tools: PolicyTools) {
    const { host, port, tls } = settings;
    this.settings = settings;
    this.name = serverAddress(settings);
    this.ownHeaders = protocol.includeResponseHeaders;
    this.host = tools.hosts.use({ host, port, ...(tls === undefined ? {} : { tls }) });
    this.slots = new CallSlots(tools);
    const { path, redirect, body, addRequestHeaders, metadata } = protocol;
    this.programs = {
      path: programOf(path, 'path'),
      redirect: programOf(redirect, 'redirect'),
      body: programOf(body, 'body'),
    };
    this.added = Object.entries(addRequestHeaders).map(([name, source]) => [
      name.toLowerCase(),
      compiled(source, requestAttributes, `${field}.addRequestHeaders`),
    ]);
    const all = [...Object.values(this.programs), ...this.added.map(([, program]) => program)];
    const contextOf = contextFor(all.filter((one) => one !== undefined));
    this.contextOf = (exchange) => withAskedRequest(contextOf(exchange), exchange);
    this.metadata = new JsonValues(metadata, authorizedAttributes, `${field}.metadata`);
  }

  async decide(exchange: Exchange, given: Buffer | undefined): Promise<Decision> {
    const context = this.contextOf(exchange);
    const headers = this.headersOf(exchange, context);
    const authority = headers.find(([name]) => name === ':authority')?.[1];
    const target = this.targetOf(exchange, context);
    const body = this.bodyOf(exchange, context) ?? given;
    let answer: HostAnswer;
    let status: number | undefined;
    const giveBack = this.slots.take(exchange);
    try {
      answer = await this.host.ask(
        {
          method: exchange.request.method,
          target,
          ...(authority === undefined ? {} : { authority }),
          headers: headers.filter(([name]) => name !== ':authority'),
          ...(body === undefined ? {} : { body }),
          timeoutMs: this.settings.timeoutMs,
          maxBodyBytes: mostDecisionBytes,
          repeatable: true,
          onStatus: (known) => (status = known),
        },
        exchange,
      );
    } catch (error) {
      if (error instanceof NotEvaluated) throw error;
      throw failed(error, status);
    } finally {
      giveBack();
    }
    if (!isDecision(answer.status)) throw new NoDecision(`HTTP status ${String(answer.status)}`);
    return answer.status < 300 ? this.allowed(exchange, answer) : this.denied(exchange, context, answer);
  }

  private allowed(exchange: Exchange, { status, headers, body }: HostAnswer): Decision {
    const wanted = this.ownHeaders;
    const taken = headers.filter(([name]) => wanted.includes(name));
    const response = answerContext({ status, lines: () => headers }, exchange) as ReadonlyMap<
      string,
      unknown
    >;
    const seen = (context: CelContext): CelContext =>
      ({
        ...withAskedRequest(context, exchange),
        response: new Map([...response, ['body', new Uint8Array(body)]]),
      }) as unknown as CelContext;
    return {
      ...allowedAsIs,
      // A header that the service does not give must not come from the client.
      removed: wanted.filter((name) => !taken.some(([known]) => known === name)),
      headers: taken.map(([name, value], index) => ({
        action: taken.findIndex(([known]) => known === name) === index ? 'set' : 'add',
        name,
        value,
      })),
      metadata: this.metadata.of(exchange, seen),
    };
  }

  private denied(exchange: Exchange, context: CelContext, { status, headers, body }: HostAnswer): Decision {
    const { redirect } = this.programs;
    const isRefusal = status === 401 || status === 403;
    if (redirect !== undefined && isRefusal) {
      const location = textOf(redirect, context, exchange, 'redirect');
      const reply = { status: 302, headers: [['location', location]] } as const;
      return { kind: 'denied', reply, metadata: {}, once: true };
    }
    const reply = deniedReply(status, headers, body);
    return { kind: 'denied', reply, metadata: {}, ...(isRefusal ? {} : { once: true }) };
  }

  private headersOf(exchange: Exchange, context: CelContext): readonly HeaderLine[] {
    const wanted = this.settings.includeRequestHeaders ?? ['authorization'];
    const added = this.added.flatMap(([name, program]): HeaderLine[] => {
      const value = evaluate(program, context, exchange, `${field}.addRequestHeaders`);
      const text = headerText(value);
      return text === undefined ? [] : [[name, text]];
    });
    // A client must not send what the gateway says of itself.
    const own = new Set(this.added.map(([name]) => name));
    return [...clientHeaders(exchange, (name) => wanted.includes(name) && !own.has(name)), ...added];
  }

  private targetOf(exchange: Exchange, context: CelContext): string {
    const { path } = this.programs;
    return path === undefined ? exchange.clientTarget : textOf(path, context, exchange, 'path');
  }

  private bodyOf(exchange: Exchange, context: CelContext): Buffer | undefined {
    const { body } = this.programs;
    if (body === undefined) return undefined;
    const value = evaluate(body, context, exchange, `${field}.body`);
    if (value instanceof Error) throw new Error(`${field}.body: ${value.message}`);
    if (value instanceof Uint8Array) return Buffer.from(value);
    return Buffer.from(typeof value === 'string' ? value : JSON.stringify(fromCel(value)));
  }
}

const field = 'extAuthz.protocol.http';

const programOf = (source: string | undefined, name: string): Program | undefined =>
  source === undefined ? undefined : compiled(source, requestAttributes, `${field}.${name}`);

/** A path, or an address to go to. @throws Error where the expression has no such value */
function textOf(
  program: Program,
  context: CelContext,
  exchange: Exchange,
  name: 'path' | 'redirect',
): string {
  const value = evaluate(program, context, exchange, `${field}.${name}`);
  if (value instanceof Error) throw new Error(`${field}.${name}: ${value.message}`);
  const text = value instanceof Uint8Array ? Buffer.from(value).toString() : value;
  if (typeof text !== 'string' || !forms[name].test(text)) throw new Error(`${field}.${name}: not usable`);
  return text;
}

/** An origin-form target (RFC 9112 §3.2.1), and the value of `Location`: neither can end its line. */
const forms = { path: /^\/[\x21-\x7e]*$/, redirect: /^[\x21-\x7e]+$/ } as const;
