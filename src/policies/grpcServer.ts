import { GatewayError } from '../errors.ts';
import { CallSlots } from './callSlots.ts';
import type { Exchange, Host, HostAnswer, PolicyTools } from './policy.ts';
import type { PolicyServer } from './fields/policyServer.ts';

/** Bytes of an answer that has a whole message of MCP. */
const mostBytes = { operator: 33_554_432, tenant: 4_194_304 } as const;
/** Bytes of an answer that is a decision. A larger one would hold up other requests while it is read. */
export const mostDecisionBytes = 1_048_576;

/** A gRPC server that a policy calls: one message goes there, and one comes back (gRPC over HTTP/2). */
export class GrpcServer {
  /** Its address, for logs. */
  readonly name: string;
  private readonly host: Host;
  private readonly timeoutMs: number;
  private readonly mostBytes: number;
  private readonly slots: CallSlots;

  /**
   * @param timeoutMs from a call to the end of its answer
   * @param most bytes of an answer, where those for messages are more than enough
   * @throws Error where a file of the TLS settings cannot be used
   */
  constructor(
    { host, port, tls }: PolicyServer,
    timeoutMs: number,
    tools: PolicyTools,
    most = Number.POSITIVE_INFINITY,
  ) {
    this.name = serverAddress({ host, port });
    this.timeoutMs = timeoutMs;
    this.mostBytes = Math.min(most, tools.guarded === true ? mostBytes.tenant : mostBytes.operator);
    this.slots = new CallSlots(tools);
    this.host = tools.hosts.use({ host, port, http2: true, ...(tls === undefined ? {} : { tls }) });
  }

  /**
   * @param during the exchange that waits for the answer
   * @returns the message of the answer
   * @throws Error where the server cannot be asked or gives another status than OK, with a reason that holds nothing of
   *   the message
   */
  async ask(
    path: string,
    message: Uint8Array,
    during: Pick<Exchange, 'onClose' | 'trial'>,
  ): Promise<GrpcAnswer> {
    const { timeoutMs } = this;
    const giveBack = this.slots.take(during);
    try {
      const answer = await this.host.ask(
        {
          method: 'POST',
          target: path,
          headers: [
            ['content-type', 'application/grpc'],
            ['grpc-timeout', `${String(timeoutMs)}m`],
          ],
          body: framed(message),
          timeoutMs,
          maxBodyBytes: this.mostBytes,
          repeatable: true,
        },
        during,
      );
      return new GrpcAnswer(bodyOf(answer));
    } finally {
      giveBack();
    }
  }
}

/** An answer with the status OK. */
export class GrpcAnswer {
  private readonly body: Buffer;

  constructor(body: Buffer) {
    this.body = body;
  }

  /** @throws Error for a body that is not one message */
  get message(): Buffer {
    return unframed(this.body);
  }
}

/** The address of a server, as logs show it. */
export const serverAddress = ({ host, port }: Pick<PolicyServer, 'host' | 'port'>): string =>
  `${host.includes(':') ? `[${host}]` : host}:${String(port)}`;

/** The reason why a server gave no answer, for the log. */
export const reasonOf = (error: unknown): string =>
  error instanceof GatewayError ? (error.detail ?? error.code) : String(error);

/** gRPC over HTTP/2, "Length-Prefixed-Message": not compressed. */
function framed(message: Uint8Array): Buffer {
  const frame = Buffer.alloc(5 + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, 5);
  return frame;
}

function unframed(body: Buffer): Buffer {
  if (body.length < 5 || body[0] !== 0 || body.readUInt32BE(1) !== body.length - 5)
    throw new Error('the answer is not one uncompressed gRPC message');
  return body.subarray(5);
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
