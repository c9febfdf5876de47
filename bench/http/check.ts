import { request as overHttp, type RequestOptions } from 'node:http';
import { request as overHttps } from 'node:https';
import { isIP } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Workload } from './workloads.ts';

interface Door {
  readonly url: string;
  readonly token?: string;
}

/**
 * Checks a request of the workload, and a request that shows the headers that the proxy adds.
 *
 * @throws Error when the answer is not the backend's, a forwarded header or the request id is missing, or another
 * version or suite of TLS is spoken: a proxy that does less would be measured as if it were fast.
 */
export async function check(door: Door, workload: Workload, isProxy: boolean): Promise<void> {
  const answer = await send(door, workload.method, workload.path, workload.body);
  if (answer.status !== 200 || answer.body.length !== workload.answerBytes) {
    throw new Error(`${workload.name}: status ${answer.status}, ${answer.body.length} bytes`);
  }
  if (!isProxy) return;
  const { body, suite } = await send(door, 'GET', '/v2/seen', undefined);
  const seen = JSON.parse(body.toString()) as Record<'for' | 'proto' | 'host' | 'id', string>;
  const scheme = new URL(door.url).protocol.slice(0, -1);
  const ok =
    // Envoy writes the machine's address in place of a loopback one.
    isIP(seen.for) !== 0 &&
    seen.proto === scheme &&
    seen.host.startsWith('api.example.com') &&
    seen.id.length >= 16;
  if (!ok) throw new Error(`the backend saw ${body.toString()}`);
  if (scheme === 'https' && suite !== 'TLSv1.3 TLS_AES_256_GCM_SHA384') {
    throw new Error(`TLS is ${suite ?? 'not spoken'}`);
  }
}

function send(
  door: Door,
  method: string,
  path: string,
  body: string | undefined,
): Promise<{ status: number; body: Buffer; suite: string | undefined }> {
  return new Promise((resolve, reject) => {
    const { protocol, port } = new URL(door.url);
    const headers: Record<string, string> = { host: 'api.example.com' };
    if (door.token !== undefined) headers['authorization'] = `Bearer ${door.token}`;
    if (body !== undefined) headers['content-type'] = 'application/json';
    const options: RequestOptions = { host: '127.0.0.1', port, method, path, headers, agent: false };
    const secure = protocol === 'https:';
    const req = secure ? overHttps({ ...options, rejectUnauthorized: false }) : overHttp(options);
    req.on('response', (res) => {
      const socket = res.socket as TLSSocket;
      const suite = secure
        ? `${socket.getProtocol() ?? 'no version'} ${socket.getCipher().standardName}`
        : undefined;
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('end', () => resolve({ status: res.statusCode ?? 0, body: Buffer.concat(chunks), suite }));
      res.on('error', reject);
    });
    req.on('error', reject);
    req.end(body);
  });
}
