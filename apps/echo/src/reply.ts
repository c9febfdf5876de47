import type { ServerResponse } from 'node:http';

/** A request that is answered with an error status and its message. */
export class Refused extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
  });
  response.end(body);
}

/** Writes and waits while the client's side is full; resolves false once the client is gone. */
export async function write(response: ServerResponse, chunk: string | Buffer): Promise<boolean> {
  if (response.destroyed) return false;
  if (response.write(chunk)) return true;
  return new Promise((resolve) => {
    const settle = (): void => {
      response.off('drain', settle).off('close', settle);
      resolve(!response.destroyed);
    };
    response.on('drain', settle).on('close', settle);
  });
}

/** Waits; resolves false at once when the client goes away, so that no timer outlives its request. */
export async function pause(response: ServerResponse, milliseconds: number): Promise<boolean> {
  if (response.destroyed) return false;
  return new Promise((resolve) => {
    const gone = (): void => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      response.off('close', gone);
      resolve(true);
    }, milliseconds);
    response.once('close', gone);
  });
}
