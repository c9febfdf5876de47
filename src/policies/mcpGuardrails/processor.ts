import { compile, isProblem, type Program } from '../../cel/index.ts';
import type { JsonObject } from '@bufbuild/protobuf';
import { GatewayError } from '../../errors.ts';
import { withoutParameters, type HeaderLine } from '../../http/index.ts';
import { requestAttributes } from '../attributes/declared.ts';
import { contextFor } from '../attributes/context.ts';
import { jsonOf } from '../attributes/endedRequest.ts';
import { evaluate } from '../attributes/evaluate.ts';
import type { Exchange, Host, HostAnswer, PolicyTools } from '../policy.ts';
import type { HeaderFilter, ProcessorSettings } from './facts.ts';
import { phaseOf, type Phase } from './methods.ts';
import { callPath, encodeCheck, framed, type CheckMessage } from './wire.ts';

/** Bytes of an answer, and checks in progress, of one processor. */
const most = {
  operator: { answerBytes: 33_554_432, checks: Number.POSITIVE_INFINITY },
  // A tenant of a cluster may have written processor, servers and clients.
  tenant: { answerBytes: 4_194_304, checks: 64 },
} as const;
/** A call may outlive the HTTP request: the client can come back for a stream that broke. */
const nobody = { onClose: () => undefined };

/** A gRPC service that checks messages. */
export class Processor {
  readonly name: string;
  readonly settings: ProcessorSettings;
  readonly phaseOf: (method: string) => Phase;
  private readonly host: Host;
  private readonly most: { readonly answerBytes: number; readonly checks: number };
  private checks = 0;
  private readonly metadata: readonly { readonly name: string; readonly program: Program }[];
  private readonly contextOf: ReturnType<typeof contextFor>;

  /** @throws Error where an expression does not compile, or a file of the TLS settings cannot be used */
  constructor(settings: ProcessorSettings, tools: PolicyTools) {
    const { host, port, tls } = settings;
    this.settings = settings;
    this.most = tools.guarded === true ? most.tenant : most.operator;
    this.name = `${host.includes(':') ? `[${host}]` : host}:${String(port)}`;
    this.phaseOf = phaseOf(settings.methods);
    this.host = tools.hosts.use({ host, port, http2: true, ...(tls === undefined ? {} : { tls }) });
    this.metadata = Object.entries(settings.metadata).map(([name, source]) => {
      const program = compile(source, requestAttributes);
      if (isProblem(program)) throw new Error(`mcpGuardrails.metadata.${name}: ${program.message}`);
      return { name, program };
    });
    this.contextOf = contextFor(this.metadata.map(({ program }) => program));
  }

  /** The values of the metadata for a request. An expression that fails, or is no JSON, has no value. */
  metadataOf(exchange: Exchange): JsonObject {
    if (this.metadata.length === 0) return {};
    const context = this.contextOf(exchange);
    const values: JsonObject = {};
    for (const { name, program } of this.metadata) {
      const value = evaluate(program, context, exchange, 'mcpGuardrails.metadata');
      const json = value instanceof Error ? undefined : jsonOf(value);
      // JSON has no NaN and no infinity: they become null.
      if (json !== undefined) values[name] = JSON.parse(JSON.stringify(json)) as JsonObject[string];
    }
    return values;
  }

  /** The headers of a request that the processor gets. */
  headersOf(exchange: Exchange): readonly HeaderLine[] {
    return filtered(exchange, this.settings.requestHeaders);
  }

  /**
   * Asks the processor (gRPC over HTTP/2, unary).
   * @returns the body of the answer
   * @throws Error where the processor cannot be asked, with a reason that holds nothing of the message
   */
  async ask(phase: keyof typeof callPath, message: CheckMessage): Promise<Buffer> {
    const { timeoutMs } = this.settings;
    if (this.checks >= this.most.checks) throw new Error(`${this.most.checks} checks are in progress`);
    this.checks++;
    try {
      const answer = await this.host.ask(
        {
          method: 'POST',
          target: callPath[phase],
          headers: [
            ['content-type', 'application/grpc'],
            ['grpc-timeout', `${String(timeoutMs)}m`],
          ],
          body: framed(encodeCheck(message)),
          timeoutMs,
          maxBodyBytes: this.most.answerBytes,
          repeatable: true,
        },
        nobody,
      );
      return bodyOf(answer);
    } finally {
      this.checks--;
    }
  }
}

/** The reason why a processor gave no answer, for the log. */
export const reasonOf = (error: unknown): string =>
  error instanceof GatewayError ? (error.detail ?? error.code) : String(error);

/** The headers of the client without the credentials that policies took out of the request. */
function filtered(
  { request, requestHeaders, forwardTarget }: Exchange,
  { allowed, disallowed }: HeaderFilter,
): readonly HeaderLine[] {
  const wanted = (name: string): boolean =>
    (allowed.length === 0 || allowed.includes(name)) &&
    !disallowed.includes(name) &&
    !requestHeaders.dropsName(name);
  const pseudo: readonly HeaderLine[] = [
    [':method', request.method],
    [':scheme', request.scheme],
    [':authority', request.authority],
    [':path', withoutTaken(request.target, forwardTarget)],
  ];
  return [...pseudo, ...request.headerLines()].filter(([name]) => wanted(name));
}

/** The target of the client, with those parameters alone that the target for the backend has, too. */
function withoutTaken(target: string, forwardTarget: string): string {
  const mark = forwardTarget.indexOf('?');
  const left = new Set(mark < 0 ? [] : forwardTarget.slice(mark + 1).split('&'));
  return withoutParameters(target, (pair) => !left.has(pair));
}

/** @throws Error for another status than OK */
function bodyOf({ status, headers, trailers, body }: HostAnswer): Buffer {
  if (status !== 200) throw new Error(`HTTP status ${String(status)}`);
  const field = (wanted: string): string | undefined =>
    [...trailers, ...headers].find(([name]) => name === wanted)?.[1];
  const code = field('grpc-status');
  if (code !== '0') {
    const text = (field('grpc-message') ?? '').slice(0, 200).replaceAll(/[^\x20-\x7e]/g, '?');
    throw new Error(`gRPC status ${code ?? 'missing'}${text === '' ? '' : `: ${text}`}`);
  }
  return body;
}
