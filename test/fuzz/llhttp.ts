/** The other reader: llhttp as node:http uses it, fed through streams in memory. */
import { createServer, request, type IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import type { Reading, Seen } from './seen.ts';

/** An end of a connection whose other end is a buffer. */
class Line extends Duplex {
  override _read(): void {
    // Bytes are pushed when they are there.
  }

  override _write(_chunk: Buffer, _encoding: string, done: () => void): void {
    done();
  }

  // Functions of a socket that node:http calls.
  setTimeout(): this {
    return this;
  }
  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
}

/** Messages under way: whether they are complete is asked when all is said, since an error comes before their end. */
const taken: { readonly seen: Seen; readonly message: IncomingMessage }[] = [];

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** All that llhttp has to say about them is said after so many turns of the event loop. */
async function settle(): Promise<void> {
  for (let i = 0; i < 6; i++) await turn();
  for (const { seen, message } of taken.splice(0)) seen.complete = message.complete;
}

function follow(reading: Reading, message: IncomingMessage, start: string, target: string): Seen {
  const fields: [string, string][] = [];
  for (let i = 0; i < message.rawHeaders.length; i += 2)
    fields.push([
      (message.rawHeaders[i] as string).toLowerCase(),
      (message.rawHeaders[i + 1] as string).replaceAll(/^[ \t]+|[ \t]+$/g, ''),
    ]);
  const seen: Seen = { start, target, fields, body: '', complete: false };
  reading.messages.push(seen);
  message.on('data', (bytes: Buffer) => void (seen.body += bytes.toString('latin1')));
  message.on('error', () => undefined);
  taken.push({ seen, message });
  return seen;
}

/** Reads requests, many connections at a time. @param lenient with all of its leniency, as `insecureHTTPParser` */
export async function readRequests(cases: readonly Buffer[], lenient = false): Promise<Reading[]> {
  const server = createServer({
    insecureHTTPParser: lenient,
    requireHostHeader: false,
    maxHeaderSize: 65_536,
  });
  const readings = new Map<unknown, Reading>();
  server.on('request', (message, response) => {
    const reading = readings.get(message.socket);
    if (reading === undefined) return;
    follow(reading, message, message.method ?? '', message.url ?? '');
    response.on('error', () => undefined);
    response.end();
  });
  // The connection stays, so that what was read before the error can still be looked at.
  server.on('clientError', (error: NodeJS.ErrnoException, line) => {
    const reading = readings.get(line);
    if (reading !== undefined) reading.refusal ??= error.code ?? error.message;
  });
  server.on('connect', (_message, line) => line.destroy());
  const lines = cases.map((bytes) => {
    const line = new Line();
    line.on('error', () => undefined);
    readings.set(line, { messages: [], refusal: undefined, closed: false });
    server.emit('connection', line);
    line.push(bytes);
    return line;
  });
  await settle();
  const results = lines.map((line) => readings.get(line) as Reading);
  readings.clear();
  for (const line of lines) line.destroy();
  await turn();
  return results;
}

/** Reads the answer to one GET, after which the backend closes. */
export async function readAnswers(cases: readonly Buffer[]): Promise<Reading[]> {
  const lines: Line[] = [];
  const readings = cases.map((bytes) => {
    const reading: Reading = { messages: [], refusal: undefined, closed: false };
    const line = new Line();
    lines.push(line);
    const sent = request({
      createConnection: () => line as never,
      headers: { host: 'a' },
      insecureHTTPParser: false,
      maxHeaderSize: 65_536,
    });
    sent.on('information', (info) => {
      const fields: [string, string][] = [];
      for (let i = 0; i < info.rawHeaders.length; i += 2)
        fields.push([(info.rawHeaders[i] as string).toLowerCase(), info.rawHeaders[i + 1] as string]);
      reading.messages.push({ start: String(info.statusCode), target: '', fields, body: '', complete: true });
    });
    sent.on('response', (message) => void follow(reading, message, String(message.statusCode), ''));
    sent.on(
      'error',
      (error: NodeJS.ErrnoException) => void (reading.refusal ??= error.code ?? error.message),
    );
    sent.end();
    line.on('error', () => undefined);
    line.push(bytes);
    line.push(null);
    return reading;
  });
  await settle();
  for (const line of lines) line.destroy();
  await turn();
  return readings;
}
