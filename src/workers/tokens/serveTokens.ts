import { timingSafeEqual } from 'node:crypto';
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
// The thread needs only this part of the policies, and it is to start quickly.
import { LocalTokens } from '../../policies/localRateLimit/localTokens.ts';
import { hearLines, lineOf, type DrawLine, type DrawnLine, type ToCounter } from './protocol.ts';

/** The longest line of a peer that has not shown the secret, in characters. */
const longestGreeting = 256;
const longestLine = 64 * 1_024 * 1_024;

/** Keeps the buckets for every worker that connects and knows the secret. Rejects where it cannot listen. */
export async function serveTokens(path: string, secret: string, now = Date.now): Promise<Server> {
  const tokens = new LocalTokens(now);
  // Left there by one that ended without a word.
  rmSync(path, { force: true });
  const server = createServer((socket) => new Desk(socket, tokens, secret));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  return server;
}

/** The connection of a worker. */
class Desk {
  private readonly socket: Socket;
  private readonly tokens: LocalTokens;
  private readonly secret: string;
  private readonly opened = new Map<number, ReturnType<LocalTokens['open']>>();
  private trusted = false;

  constructor(socket: Socket, tokens: LocalTokens, secret: string) {
    this.socket = socket;
    this.tokens = tokens;
    this.secret = secret;
    hearLines(
      socket,
      () => (this.trusted ? longestLine : longestGreeting),
      (message) => this.hear(message),
    );
    socket.on('error', () => undefined);
    socket.on('close', () => {
      for (const draws of this.opened.values()) draws.close();
    });
  }

  private hear({ secret, open, close, draw }: ToCounter): void {
    if (!this.trusted) {
      if (secret === undefined || !equal(secret, this.secret)) throw new Error('invalid secret');
      this.trusted = true;
    }
    if (open !== undefined) {
      const [id, place, limits] = open;
      this.opened.set(id, this.tokens.open(place, limits));
    }
    if (draw !== undefined) this.socket.write(lineOf({ drawn: draw.flatMap((line) => this.draw(line)) }));
    if (close !== undefined) {
      this.opened.get(close)?.close();
      this.opened.delete(close);
    }
  }

  private draw([question, id, keys]: DrawLine): readonly DrawnLine[] {
    const standing = this.opened.get(id)?.draw(keys);
    if (standing === undefined) return [];
    const { allowed, most, left, fillMs, limit = 0 } = standing;
    return [[question, allowed, most, left, fillMs, limit]];
  }
}

function equal(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
