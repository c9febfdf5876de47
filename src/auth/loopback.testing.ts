import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** A server on the loopback interface whose behaviour a test changes as it goes. */
export interface Loopback {
  readonly url: string;
  readonly port: number;
  /** Paths asked for, in order. */
  readonly asked: string[];
  answer: RequestListener;
  close(): Promise<void>;
}

/** Listens on `port`, or on any free one. @param tls PEM texts; the server speaks https then */
export async function startLoopback(
  answer: RequestListener,
  port = 0,
  tls?: { readonly cert: string; readonly key: string },
): Promise<Loopback> {
  const asked: string[] = [];
  const loopback = { answer };
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    asked.push(request.url ?? '');
    loopback.answer(request, response);
  };
  const server: Server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return Object.assign(loopback, {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${bound}`,
    port: bound,
    asked,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}

/** Answers 200 with this as JSON. */
export const jsonAnswer =
  (value: unknown, headers: Record<string, string> = {}): RequestListener =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers });
    response.end(typeof value === 'string' ? value : JSON.stringify(value));
  };
