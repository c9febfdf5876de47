import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { readBody } from './body.ts';
import { isLoopback } from './loopback.ts';
import { tokenRequestSchema, type TokenRequest } from './tokens.ts';

export interface AdminActions {
  rotateKeys(options: { dropOld: boolean }): Promise<{ kid: string; kids: string[] }>;
  issueToken(request: TokenRequest): Promise<string>;
}

const rotateSchema = z.strictObject({ dropOld: z.boolean().default(false) });

type Action = (actions: AdminActions, body: unknown) => Promise<unknown>;

const table: Record<string, Action> = {
  '/admin/rotate': (actions, body) => actions.rotateKeys(rotateSchema.parse(body)),
  '/admin/token': async (actions, body) => ({
    access_token: await actions.issueToken(tokenRequestSchema.parse(body)),
    token_type: 'Bearer',
  }),
};

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Answers `POST /admin/…`, for this machine only, whatever the server listens on. The caller must know the secret of
 * this start: a gateway in front forwards requests from anywhere, with a loopback address and any Host. It also refuses
 * what a web page open in a browser here could send (a page's POST always carries an Origin).
 */
export async function handleAdmin(
  actions: AdminActions,
  secret: string,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const local = isLoopback(request.socket.remoteAddress ?? '') && isLoopbackHost(request.headers.host);
  if (!local || request.headers.origin !== undefined)
    return send(response, 403, { error: 'admin answers this machine only' });
  if (!timingSafeEqual(digest(request.headers.authorization ?? ''), digest(`Bearer ${secret}`))) {
    response.setHeader('www-authenticate', 'Bearer realm="admin"');
    return send(response, 401, { error: 'admin needs the secret that was printed at the start' });
  }
  const action = Object.hasOwn(table, path) ? table[path] : undefined;
  if (!action) return send(response, 404, { error: 'not found' });
  if (request.method !== 'POST') {
    response.setHeader('allow', 'POST');
    return send(response, 405, { error: 'use POST' });
  }
  const text = await readBody(request);
  try {
    return send(response, 200, await action(actions, text === '' ? {} : JSON.parse(text)));
  } catch (error) {
    if (error instanceof z.ZodError) return send(response, 400, { error: z.prettifyError(error) });
    if (error instanceof SyntaxError) return send(response, 400, { error: 'the body is not JSON' });
    throw error;
  }
}

function isLoopbackHost(host: string | undefined): boolean {
  return (
    host !== undefined && URL.canParse(`http://${host}`) && isLoopback(new URL(`http://${host}`).hostname)
  );
}

function send(response: ServerResponse, status: number, value: unknown): void {
  response
    .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(`${JSON.stringify(value)}\n`);
}
