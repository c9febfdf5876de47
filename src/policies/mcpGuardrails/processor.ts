import { compile, isProblem, type Program } from '../../cel/index.ts';
import type { JsonObject } from '@bufbuild/protobuf';
import { withoutParameters, type HeaderLine } from '../../http/index.ts';
import { requestAttributes } from '../attributes/declared.ts';
import { contextFor } from '../attributes/context.ts';
import { jsonOf } from '../attributes/endedRequest.ts';
import { evaluate } from '../attributes/evaluate.ts';
import { GrpcServer, type GrpcAnswer } from '../grpcServer.ts';
import type { Exchange, PolicyTools } from '../policy.ts';
import type { HeaderFilter, ProcessorSettings } from './facts.ts';
import { phaseOf, type Phase } from './methods.ts';
import { callPath, encodeCheck, type CheckMessage } from './wire.ts';

/** A call may outlive the HTTP request: the client can come back for a stream that broke. */
const nobody = { onClose: () => undefined };

/** A gRPC service that checks messages. */
export class Processor {
  readonly name: string;
  readonly settings: ProcessorSettings;
  readonly phaseOf: (method: string) => Phase;
  private readonly server: GrpcServer;
  private readonly metadata: readonly { readonly name: string; readonly program: Program }[];
  private readonly contextOf: ReturnType<typeof contextFor>;

  /** @throws Error where an expression does not compile, or a file of the TLS settings cannot be used */
  constructor(settings: ProcessorSettings, tools: PolicyTools) {
    this.settings = settings;
    this.server = new GrpcServer(settings, settings.timeoutMs, tools);
    this.name = this.server.name;
    this.phaseOf = phaseOf(settings.methods);
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
   * @throws Error where the processor cannot be asked, with a reason that holds nothing of the message
   */
  async ask(phase: keyof typeof callPath, message: CheckMessage): Promise<GrpcAnswer> {
    return await this.server.ask(callPath[phase], encodeCheck(message), nobody);
  }
}

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
