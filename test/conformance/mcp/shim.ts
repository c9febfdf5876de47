import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { listenOnLoopback } from '../../support/loopback.ts';

/**
 * Adds a bearer token to every request, because the conformance suite cannot send one, and passes everything else
 * through as it is: `Host` and `Origin` (a scenario checks what the gateway makes of foreign ones), the status, the
 * headers and the body while it streams.
 *
 * @param port of the gateway, on 127.0.0.1
 */
export async function startShim(
  port: number,
  token: string,
): Promise<{ port: number; close: () => Promise<void> }> {
  return listenOnLoopback(
    createServer((req, res) => {
      const upstream = request(
        {
          host: '127.0.0.1',
          port,
          method: req.method,
          path: req.url,
          headers: [...req.rawHeaders, 'Authorization', `Bearer ${token}`],
          agent: false,
        },
        (answer) => relay(answer, res),
      );
      upstream.on('error', () => res.destroy());
      res.on('close', () => upstream.destroy());
      req.pipe(upstream);
    }),
  );
}

function relay(answer: IncomingMessage, res: ServerResponse): void {
  res.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
  // A silent GET stream has to show its head at once.
  res.flushHeaders();
  answer.on('error', () => res.destroy());
  answer.pipe(res);
}
