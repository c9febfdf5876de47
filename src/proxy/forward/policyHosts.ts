import { GatewayError, NotEvaluated, type ErrorCode } from '../../errors.ts';
import { GatheredBytes } from '../../gatheredBytes.ts';
import { isServiceName, renderLines, type Head, type HeaderLine } from '../../http/index.ts';
import type { ProcessSettings } from '../../model/index.ts';
import type { Host, HostAnswer, HostCall, Hosts } from '../../policies/index.ts';
import {
  authorityOf,
  isClosed,
  OwnRequest,
  type ResponseHandler,
  type Destination,
} from '../../upstream/index.ts';
import type { BackendTools } from './backendTools.ts';

/** The fields that frame the message: the gateway writes them itself. */
const framing: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'host',
  'keep-alive',
  'te',
  'transfer-encoding',
  'upgrade',
]);

/**
 * The hosts that the policies of one snapshot call. They share their connections with the backends.
 * @param guarded for policies that a tenant of a cluster may have written
 */
export function policyHosts(
  { limits, upstream }: ProcessSettings,
  tools: BackendTools,
  guarded = false,
): Hosts {
  return {
    use(host) {
      if (guarded && host.tls === undefined && !isServiceName(host.host))
        throw new Error(`${host.host}: only by TLS, or a Service of the cluster`);
      if (guarded && isClosed(host.host)) throw new Error(`the gateway does not call ${host.host}`);
      const target = guarded ? ({ ...host, guarded } as const) : host;
      const destination = tools.endpoints.use(target, upstream, limits);
      tools.uses.destinations.add(destination);
      return guarded ? onceLookedAt(destination) : hostOf(destination);
    },
  };
}

/** A guarded name is not connected to before its addresses are known. */
function onceLookedAt(destination: Destination): Host {
  const host = hostOf(destination);
  return {
    async ask(call, during) {
      if (during.trial === undefined) await destination.resolution.looking;
      return await host.ask(call, during);
    },
  };
}

/** The calls of policies to one destination. */
export const hostOf = (destination: Destination): Host => ({
  ask: (call, during) =>
    new Promise((resolve, reject) => {
      if (during.trial !== undefined) throw new NotEvaluated(`it asks ${destination.name}`);
      const asked = new PendingCall(destination, call, resolve, reject);
      during.onClose(() => asked.abandon());
      asked.begin();
    }),
});

/** A call under way. It reads the answer into memory, up to the limit of the call. */
class PendingCall implements ResponseHandler {
  private readonly request: OwnRequest;
  private readonly limit: Pick<HostCall, 'timeoutMs' | 'maxBodyBytes' | 'onStatus'>;
  private readonly name: string;
  private readonly resolve: (answer: HostAnswer) => void;
  private readonly reject: (error: GatewayError) => void;
  private readonly timer: NodeJS.Timeout;
  private readonly bodiless: boolean;
  private status = 0;
  private headers: readonly HeaderLine[] = [];
  private trailers: readonly HeaderLine[] = [];
  private readonly body = new GatheredBytes();

  constructor(
    destination: Destination,
    call: HostCall,
    resolve: (answer: HostAnswer) => void,
    reject: (error: GatewayError) => void,
  ) {
    this.limit = call;
    this.bodiless = call.method === 'HEAD';
    this.name = destination.name;
    this.resolve = resolve;
    this.reject = reject;
    this.request = new OwnRequest(
      {
        destination,
        head: headOf(call, destination),
        ...(call.body !== undefined && { body: call.body }),
        bodiless: this.bodiless,
        repeatable: call.repeatable,
        // The time-out of the call holds for the head of its answer, too.
        patient: true,
      },
      this,
    );
    this.timer = setTimeout(() => this.expire(), call.timeoutMs);
    this.timer.unref();
  }

  begin(): void {
    this.request.begin();
  }

  abandon(): void {
    clearTimeout(this.timer);
    this.request.abandon();
  }

  onHead(head: Head): void {
    this.status = head.status;
    this.headers = head.lines();
    this.limit.onStatus?.(head.status);
    if (!this.bodiless) this.checkLength(head.contentLength);
  }

  onBytes(bytes: Buffer, from: number, to: number): void {
    this.body.add(bytes, from, to);
    this.checkLength(this.body.length);
  }

  onTrailers(lines: readonly HeaderLine[]): void {
    this.trailers = lines;
  }

  onEnd(): void {
    clearTimeout(this.timer);
    const { status, headers, trailers } = this;
    this.resolve({ status, headers, body: this.body.takeWhole(), trailers });
  }

  onFailure(code: ErrorCode, detail: string): void {
    clearTimeout(this.timer);
    this.reject(new GatewayError(code, { detail }));
  }

  private expire(): void {
    this.refuse('upstream_timeout', `no whole answer within ${this.limit.timeoutMs} ms`);
  }

  private checkLength(length: number): void {
    const { maxBodyBytes } = this.limit;
    if (length > maxBodyBytes)
      this.refuse('upstream_too_large', `${length} bytes in an answer of at most ${maxBodyBytes}`);
  }

  private refuse(code: ErrorCode, detail: string): void {
    this.abandon();
    this.reject(new GatewayError(code, { detail: `${this.name}: ${detail}` }));
  }
}

function headOf(
  { method, target, authority, headers, body }: HostCall,
  { target: host }: Destination,
): string {
  const lines: HeaderLine[] = [
    ['host', authority ?? authorityOf(host)],
    ...headers.filter(([name]) => !framing.has(name)),
    ...(body === undefined ? [] : [['content-length', String(body.length)] as const]),
  ];
  return `${method} ${target} HTTP/1.1\r\n${renderLines(lines)}\r\n`;
}
