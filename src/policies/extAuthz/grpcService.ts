import { NotEvaluated } from '../../errors.ts';
import { clientHeaders } from '../clientHeaders.ts';
import { requestAttributes } from '../attributes/declared.ts';
import { JsonValues, type JsonMembers } from '../attributes/jsonValues.ts';
import { GrpcServer, mostDecisionBytes, type GrpcAnswer } from '../grpcServer.ts';
import type { Exchange, PolicyTools } from '../policy.ts';
import { withAskedRequest } from '../seenRequest.ts';
import type { Decision } from './decision.ts';
import type { ExtAuthzSettings, GrpcProtocol } from './facts.ts';
import { failed, type Service } from './service.ts';
import { checkPath, decodeDecision, encodeCheck, type CheckedRequest } from './wire.ts';

/** The name under which Envoy gives verified claims to services. */
const claimsName = 'envoy.filters.http.jwt_authn';

/** A service that speaks the external authorization protocol of Envoy, version 3. */
export class GrpcService implements Service {
  readonly name: string;
  readonly ownHeaders = [];
  private readonly server: GrpcServer;
  private readonly settings: ExtAuthzSettings;
  private readonly protocol: GrpcProtocol;
  private readonly metadata: JsonValues | undefined;

  /** @throws Error where an expression does not compile, or a file of the TLS settings cannot be used */
  constructor(settings: ExtAuthzSettings, protocol: GrpcProtocol, tools: PolicyTools) {
    this.settings = settings;
    this.protocol = protocol;
    this.server = new GrpcServer(settings, settings.timeoutMs, tools, mostDecisionBytes);
    this.name = this.server.name;
    this.metadata =
      protocol.metadata &&
      new JsonValues(protocol.metadata, requestAttributes, 'extAuthz.protocol.grpc.metadata');
  }

  async decide(exchange: Exchange, body: Buffer | undefined): Promise<Decision> {
    const message = encodeCheck(this.requestOf(exchange, body));
    let answer: GrpcAnswer;
    try {
      answer = await this.server.ask(checkPath, message, exchange);
    } catch (error) {
      if (error instanceof NotEvaluated) throw error;
      throw failed(error);
    }
    return decodeDecision(answer.message);
  }

  private requestOf(exchange: Exchange, body: Buffer | undefined): CheckedRequest {
    const { request } = exchange;
    const { includeRequestHeaders: wanted } = this.settings;
    const spiffe = request.clientCertificate?.subjectAltNames.find((name) => name.startsWith('spiffe://'));
    return {
      source: { address: request.remoteAddress, port: request.remotePort, principal: spiffe ?? '' },
      destination: { address: request.localAddress, port: request.localPort, principal: '' },
      time: request.startedAt,
      id: request.id,
      method: request.method,
      headers: joined(clientHeaders(exchange, (name) => wanted === undefined || wanted.includes(name))),
      path: exchange.clientTarget,
      host: request.authority,
      scheme: request.scheme,
      protocol: request.version.replace(/^HTTP\/2\.0$/, 'HTTP/2'),
      serverName: request.scheme === 'https' ? (request.serverName ?? '') : undefined,
      // Bytes that are no text become replacement characters.
      body: this.settings.body?.asBytes === true ? body : body?.toString(),
      context: this.protocol.context,
      metadata: this.metadata === undefined ? claimsOf(exchange) : objectsOf(this.metadata, exchange),
    };
  }
}

/** Lines of one name are one value for a service (RFC 9110 §5.3, RFC 6265 §5.4). */
function joined(lines: ReturnType<typeof clientHeaders>): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const [name, value] of lines) {
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}${name === 'cookie' ? '; ' : ', '}${value}`);
  }
  return headers;
}

const claimsOf = ({ identity }: Exchange): CheckedRequest['metadata'] =>
  identity === undefined ? {} : { [claimsName]: { jwt_payload: identity.claims as JsonMembers } };

/** The protocol has objects alone. */
const objectsOf = (metadata: JsonValues, exchange: Exchange): CheckedRequest['metadata'] =>
  Object.fromEntries(
    Object.entries(metadata.of(exchange, (context) => withAskedRequest(context, exchange))).filter(
      (entry): entry is [string, JsonMembers] =>
        typeof entry[1] === 'object' && entry[1] !== null && !Array.isArray(entry[1]),
    ),
  );
