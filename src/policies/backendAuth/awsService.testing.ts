import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, request as ask, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { authorization, type AwsKeys } from './sigV4.ts';

/** A request whose signature was right. */
export interface SignedRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly keys: AwsKeys;
  /** `REGION/SERVICE` of the signature. */
  readonly scope: string;
}

export interface AwsAnswer {
  readonly status?: number;
  /** A text, or JSON. */
  readonly body?: unknown;
  /** The request goes on to this server, with its signature. */
  readonly to?: string;
}

/** Fields that must be signed, if the request has them. */
const mustSign = (name: string): boolean =>
  name === 'host' || name === 'content-type' || name.startsWith('x-amz-');

/**
 * A service of AWS on loopback: it refuses requests whose signature does not fit what it received. The signatures
 * themselves are held to vectors of AWS and of botocore (`sigV4.test.ts`).
 */
export class AwsService {
  readonly requests: SignedRequest[] = [];
  /** The reasons of refusals. */
  readonly refused: string[] = [];
  private readonly server;

  private constructor(known: readonly AwsKeys[], answer: (request: SignedRequest) => AwsAnswer) {
    this.server = createServer((request, response) => {
      void this.serve(known, answer, request, response).catch((error: unknown) => {
        this.refused.push(String(error));
        response
          .writeHead(403)
          .end(`<Error><Code>SignatureDoesNotMatch</Code><Message>${String(error)}</Message></Error>`);
      });
    });
  }

  /** @param known the keys that are good here */
  static async start(
    t: TestContext,
    known: readonly AwsKeys[],
    answer: (request: SignedRequest) => AwsAnswer = () => ({}),
  ): Promise<AwsService> {
    const started = new AwsService(known, answer);
    await new Promise<void>((resolve) => started.server.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      started.server.closeAllConnections();
      started.server.close();
    });
    return started;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${String(this.port)}`;
  }

  private async serve(
    known: readonly AwsKeys[],
    answer: (request: SignedRequest) => AwsAnswer,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts);
    const verified = verify(request, body, known);
    const { method = '', headers } = request;
    const seen = {
      method,
      url: new URL(request.url ?? '', this.url),
      headers,
      body: body.toString(),
      ...verified,
    };
    this.requests.push(seen);
    const { status = 200, body: said = 'fine', to } = answer(seen);
    if (to === undefined) {
      response.writeHead(status).end(typeof said === 'string' ? said : JSON.stringify(said));
      return;
    }
    const passed = ask(new URL(request.url ?? '', to), { method, headers }, (answered) => {
      response.writeHead(answered.statusCode ?? 502, answered.headers);
      answered.pipe(response);
    });
    response.on('close', () => passed.destroy());
    passed.on('error', () => response.destroy());
    passed.end(body);
  }
}

function verify(
  request: IncomingMessage,
  body: Buffer,
  known: readonly AwsKeys[],
): Pick<SignedRequest, 'keys' | 'scope'> {
  const given = request.headersDistinct['authorization'] ?? [];
  const [, id = '', , region = '', service = '', names = ''] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=[\da-f]{64}$/.exec(
      given.join(),
    ) ?? [];
  const keys = known.find(({ accessKeyId }) => accessKeyId === id);
  if (keys === undefined || given.length !== 1)
    throw new Error(`no known credential: ${given.join() || 'none'}`);
  const signed = names.split(';');
  const lines = request.rawHeaders.flatMap((name, at, all) =>
    at % 2 === 0 ? [[name.toLowerCase(), all[at + 1] ?? ''] as const] : [],
  );
  const unsigned = lines.find(([name]) => mustSign(name) && !signed.includes(name));
  if (unsigned !== undefined) throw new Error(`${unsigned[0]} is not signed`);
  const one = (name: string): string => request.headersDistinct[name]?.join(', ') ?? '';
  if (one('x-amz-security-token') !== (keys.sessionToken ?? '')) throw new Error('another session token');
  const payloadHash = one('x-amz-content-sha256') || createHash('sha256').update(body).digest('hex');
  const isUnsigned = payloadHash === 'UNSIGNED-PAYLOAD' && service === 's3';
  if (!isUnsigned && payloadHash !== createHash('sha256').update(body).digest('hex'))
    throw new Error('another body');
  const time = one('x-amz-date');
  const at = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  if (Number.isNaN(at) || Math.abs(Date.now() - at) > 300_000) throw new Error(`signed at ${time}`);
  const expected = authorization(
    {
      method: request.method ?? '',
      target: request.url ?? '',
      headers: lines.filter(([name]) => signed.includes(name)),
      payloadHash,
      time,
    },
    keys,
    { region, service },
  );
  const [was, is] = [Buffer.from(expected), Buffer.from(given.join())];
  if (was.length !== is.length || !timingSafeEqual(was, is)) throw new Error('another signature');
  return { keys, scope: `${region}/${service}` };
}
