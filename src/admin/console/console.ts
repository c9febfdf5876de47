import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../../telemetry/index.ts';
import { readBuiltFiles, type BuiltFile } from './builtFiles.ts';
import { contentSecurityPolicy } from './contentSecurity.ts';

/** Serves the pages of the console on the admin port. */
export interface Console {
  /**
   * Answers a request for a file of the console, or for `/` by a browser.
   * @returns whether it answered; other requests are left to the other pages
   */
  serve(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
}

const base = '/ui/';
/** The start of a session, and the end of a login of the playground, belong to the admin API. */
const apiPaths: ReadonlySet<string> = new Set(['/ui/login', '/ui/playground/callback']);
/** Stands in the built page where the nonce of the response belongs. */
const noncePlace = '__CSP_NONCE__';
/** The build writes a hash of the contents into the name of each file below it. */
const hashed = 'assets/';

/** Headers of every answer. */
const guards = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/**
 * Makes the server of the console. It reads the built files when the first request for one arrives, so a console that
 * stays closed costs no memory.
 * @param folder the built files
 */
export function createConsole(folder: URL, log: Logger): Console {
  let reading: Promise<ReadonlyMap<string, BuiltFile>> | undefined;
  const read = async (): Promise<ReadonlyMap<string, BuiltFile>> => {
    try {
      reading ??= readBuiltFiles(folder);
      const files = await reading;
      // The operator may build the console while the gateway runs.
      if (files.size === 0) reading = undefined;
      return files;
    } catch (error) {
      reading = undefined;
      throw error;
    }
  };
  return {
    serve: async (request, response) => {
      const [path = ''] = (request.url ?? '').split('?', 1);
      const isBrowser = request.headers.accept?.includes('text/html') === true;
      if (path === '/ui' || (path === '/' && isBrowser)) {
        answer(request, response, 303, '', { location: base, vary: 'accept' });
        return true;
      }
      if (!path.startsWith(base) || apiPaths.has(path)) return false;
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        answer(request, response, 405, 'method not allowed\n', { allow: 'GET, HEAD' });
        return true;
      }
      try {
        answerFile(request, response, await read(), path.slice(base.length));
      } catch (error) {
        log.error('Console files could not be read', { reason: String(error) });
        answer(request, response, 500, 'internal error\n');
      }
      return true;
    },
  };
}

function answerFile(
  request: IncomingMessage,
  response: ServerResponse,
  files: ReadonlyMap<string, BuiltFile>,
  name: string,
): void {
  const page = files.get('index.html');
  if (page === undefined) {
    answer(request, response, 503, 'The console was not built: run `npm run build:console`.\n');
    return;
  }
  const file = files.get(name);
  if (file !== undefined && file !== page) {
    const zipped = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
    answer(request, response, 200, zipped ? file.gzipped : file.bytes, {
      'content-type': file.type,
      'cache-control': name.startsWith(hashed) ? 'public, max-age=31536000, immutable' : 'no-cache',
      vary: 'accept-encoding',
      ...(zipped ? { 'content-encoding': 'gzip' } : {}),
    });
    return;
  }
  // Every page of the console is the same document, which reads its path. A file has a dot in its name.
  if (file === undefined && name.includes('.')) {
    answer(request, response, 404, 'not found\n');
    return;
  }
  const nonce = randomBytes(16).toString('base64');
  answer(request, response, 200, page.bytes.toString().replaceAll(noncePlace, nonce), {
    'content-type': page.type,
    'content-security-policy': contentSecurityPolicy(nonce),
  });
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): void {
  // An unread body would hold the connection.
  request.resume();
  const bytes = Buffer.from(body);
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    ...guards,
    ...headers,
    'content-length': bytes.length,
  });
  response.end(request.method === 'HEAD' ? undefined : bytes);
}
