import { once } from 'node:events';
import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { authority } from '../../proxy/certificates.testing.ts';
import { createMetrics, type Metrics } from '../../telemetry/index.ts';
import { KubeApi } from '../api/api.ts';
import { isRecord } from '../api/object.ts';

/** A ServiceAccount behind a token. */
export interface TokenOf {
  readonly account: string;
  readonly audience: string;
  readonly pod?: string;
}

/** A small API server over HTTPS: TokenReview, and Secrets that conflict as real ones do. */
export interface KubeServer {
  readonly api: KubeApi;
  readonly metrics: Metrics;
  /** The tokens that TokenReview knows. */
  readonly tokens: Map<string, TokenOf>;
  readonly secrets: Map<string, Record<string, unknown>>;
  /** Method and path of every request, in order. */
  readonly requests: string[];
  /** Answers nothing but 503. */
  away: boolean;
  /** Denies every write of a Secret. */
  readOnly: boolean;
  /** Awaited before each answer. */
  hold: Promise<void> | undefined;
}

export async function startKubeServer(t: TestContext): Promise<KubeServer> {
  const ca = authority();
  const server = createServer(ca.issue({ names: ['127.0.0.1'] }));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const metrics = createMetrics({ process: false });
  const api = new KubeApi({
    access: {
      server: new URL(`https://127.0.0.1:${String((server.address() as AddressInfo).port)}`),
      namespace: undefined,
      options: async () => await Promise.resolve({ ca: ca.cert }),
      refused: () => {},
      close: () => {},
    },
    metrics,
    userAgent: 'test',
  });
  const kube: KubeServer = {
    api,
    metrics,
    tokens: new Map(),
    secrets: new Map(),
    requests: [],
    away: false,
    readOnly: false,
    hold: undefined,
  };
  server.on('request', (request, response) => void answer(kube, request, response));
  t.after(() => {
    api.close();
    server.closeAllConnections();
    server.close();
  });
  return kube;
}

/** Looks like a token of Kubernetes; nobody has signed it. */
export function tokenFor(audience: string | readonly string[], expiresInSeconds = 3_600, salt = ''): string {
  const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1_000) + expiresInSeconds;
  return [encoded({ alg: 'none' }), encoded({ aud: audience, exp, salt }), 'signature'].join('.');
}

async function answer(kube: KubeServer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = '', url = '' } = request;
  kube.requests.push(`${method} ${url}`);
  let text = '';
  for await (const chunk of request) text += String(chunk);
  await kube.hold;
  const say = (status: number, value: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
  };
  if (kube.away) {
    say(503, {});
    return;
  }
  const body = text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>);
  if (url === '/apis/authentication.k8s.io/v1/tokenreviews') say(201, review(kube, body));
  else if (url.startsWith('/api/v1/namespaces/')) secret(kube, method, url, body, say);
  else say(404, {});
}

function review({ tokens }: KubeServer, body: Record<string, unknown> | undefined): unknown {
  const spec = isRecord(body?.['spec']) ? body['spec'] : {};
  const { token, audiences } = spec as { token: string; audiences: readonly string[] };
  const found = tokens.get(token);
  if (found === undefined || !audiences.includes(found.audience)) return { ...body, status: { error: 'no' } };
  return {
    ...body,
    status: {
      authenticated: true,
      audiences: [found.audience],
      user: {
        username: found.account,
        uid: 'u',
        groups: ['system:serviceaccounts'],
        ...(found.pod === undefined
          ? {}
          : {
              extra: {
                'authentication.kubernetes.io/pod-name': [found.pod],
                'authentication.kubernetes.io/pod-uid': [`uid-${found.pod}`],
              },
            }),
      },
    },
  };
}

let version = 0;

function secret(
  { secrets, readOnly }: KubeServer,
  method: string,
  url: string,
  body: Record<string, unknown> | undefined,
  say: (status: number, value: unknown) => void,
): void {
  const name = url.split('/')[6] ?? (body?.['metadata'] as { name: string }).name;
  const known = secrets.get(name);
  const conflict = { kind: 'Status', reason: 'Conflict', code: 409 };
  if (method === 'GET') {
    say(known === undefined ? 404 : 200, known ?? {});
    return;
  }
  if (readOnly) {
    say(403, { kind: 'Status', reason: 'Forbidden', code: 403 });
    return;
  }
  const before = (known?.['metadata'] as { resourceVersion?: string } | undefined)?.resourceVersion;
  const given = (body?.['metadata'] as { resourceVersion?: string }).resourceVersion;
  if (method === 'POST' ? known !== undefined : before === undefined || given !== before) {
    say(409, conflict);
    return;
  }
  const metadata = { ...(body?.['metadata'] as object), resourceVersion: String(++version) };
  secrets.set(name, { ...body, metadata });
  say(200, secrets.get(name));
}
