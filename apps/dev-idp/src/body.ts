import type { IncomingMessage } from 'node:http';

const largestBody = 64 * 1024;

/** A body larger than anything this server is meant to read. */
export class BodyTooLarge extends Error {}

export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > largestBody) throw new BodyTooLarge(`the largest body taken is ${largestBody} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
