import type { JsonObject } from '@bufbuild/protobuf';
import type { HeaderLine } from '../../http/index.ts';
import { requestAttributes } from '../attributes/declared.ts';
import { JsonValues } from '../attributes/jsonValues.ts';
import { clientHeaders } from '../clientHeaders.ts';
import { GrpcServer, type GrpcAnswer } from '../grpcServer.ts';
import type { Exchange, PolicyTools } from '../policy.ts';
import type { ProcessorSettings } from './facts.ts';
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
  private readonly metadata: JsonValues;

  /** @throws Error where an expression does not compile, or a file of the TLS settings cannot be used */
  constructor(settings: ProcessorSettings, tools: PolicyTools) {
    this.settings = settings;
    this.server = new GrpcServer(settings, settings.timeoutMs, tools);
    this.name = this.server.name;
    this.phaseOf = phaseOf(settings.methods);
    this.metadata = new JsonValues(settings.metadata, requestAttributes, 'mcpGuardrails.metadata');
  }

  /** The values of the metadata for a request. */
  metadataOf(exchange: Exchange): JsonObject {
    return this.metadata.of(exchange);
  }

  /** The headers of a request that the processor gets. */
  headersOf(exchange: Exchange): readonly HeaderLine[] {
    const { allowed, disallowed } = this.settings.requestHeaders;
    return clientHeaders(
      exchange,
      (name) => (allowed.length === 0 || allowed.includes(name)) && !disallowed.includes(name),
    );
  }

  /**
   * Asks the processor (gRPC over HTTP/2, unary).
   * @throws Error where the processor cannot be asked, with a reason that holds nothing of the message
   */
  async ask(phase: keyof typeof callPath, message: CheckMessage): Promise<GrpcAnswer> {
    return await this.server.ask(callPath[phase], encodeCheck(message), nobody);
  }
}
