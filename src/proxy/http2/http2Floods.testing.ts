/** Floods of frames that cost their sender nothing. */
import { frame, PREFACE } from '../../http/frame.testing.ts';
import type { RawClient } from '../wire.testing.ts';

const DATA = 0;
export const HEADERS = 1;
const PRIORITY = 2;
const RST_STREAM = 3;
const SETTINGS = 4;
export const PING = 6;
const WINDOW_UPDATE = 8;
const CONTINUATION = 9;
export const END_STREAM = 1;
export const END_HEADERS = 4;

/** `:method` (index 2 or 3), `:scheme: http`, `:path: /` and `:authority: app.test` without Huffman coding (RFC 7541). */
export const request = (method: number): Buffer =>
  Buffer.concat([Buffer.from([0x80 | method, 0x86, 0x84, 0x41, 8]), Buffer.from('app.test')]);

export const preface = Buffer.concat([PREFACE, frame(SETTINGS, 0, 0)]);

const cancel = Buffer.from([0, 0, 0, 8]);

export const floods: Readonly<Record<string, (round: number) => Buffer>> = {
  'streams that are opened and reset (CVE-2023-44487)': (round) =>
    Buffer.concat([
      frame(HEADERS, END_HEADERS | END_STREAM, 2 * round + 1, request(2)),
      frame(RST_STREAM, 0, 2 * round + 1, cancel),
    ]),
  'PING (CVE-2019-9512)': () => frame(PING, 0, 0, Buffer.alloc(8)),
  'SETTINGS (CVE-2019-9515)': () => frame(SETTINGS, 0, 0, Buffer.from([0, 4, 0, 1, 0, 0])),
  'CONTINUATION without an end (CVE-2024-27316)': (round) =>
    round === 0
      ? frame(HEADERS, END_STREAM, 1, request(2))
      : frame(CONTINUATION, 0, 1, Buffer.concat([Buffer.from([0x00, 1, 0x61, 2]), Buffer.from('bc')])),
  'empty DATA (CVE-2019-9518)': (round) =>
    round === 0 ? frame(HEADERS, END_HEADERS, 1, request(3)) : frame(DATA, 0, 1),
  'streams that are opened and broken (CVE-2025-8671)': (round) =>
    Buffer.concat([
      frame(HEADERS, END_HEADERS, 2 * round + 1, request(3)),
      frame(WINDOW_UPDATE, 0, 2 * round + 1, Buffer.alloc(4)),
    ]),
  'heads of references to one large field': (round) =>
    frame(
      HEADERS,
      END_HEADERS | END_STREAM,
      2 * round + 1,
      round === 0
        ? Buffer.concat([
            request(2),
            Buffer.from([0x40, 1, 0x61, 0x7f, 0x81, 0x1e]),
            Buffer.alloc(3_968, 0x62),
          ])
        : Buffer.alloc(4_000, 0xbe),
    ),
  PRIORITY: (round) => frame(PRIORITY, 0, 2 * round + 1, Buffer.from([0, 0, 0, 0, 1])),
  'WINDOW_UPDATE of nothing much': () => frame(WINDOW_UPDATE, 0, 0, Buffer.from([0, 0, 0, 1])),
};

/** Sends rounds until the gateway hangs up, reading what comes; so many bytes at most. */
export async function flood(client: RawClient, round: (index: number) => Buffer): Promise<number> {
  const most = 60_000_000;
  let sent = 0;
  let index = 0;
  client.socket.write(preface);
  while (client.ending === 'open' && sent < most) {
    const pieces: Buffer[] = [];
    for (let i = 0; i < 500; i++) pieces.push(round(index++));
    const bytes = Buffer.concat(pieces);
    sent += bytes.length;
    await new Promise<void>((resolve) => {
      if (client.socket.destroyed) resolve();
      else client.socket.write(bytes, () => resolve());
      client.socket.once('close', () => resolve());
    });
    await new Promise((resolve) => setImmediate(resolve));
  }
  return sent;
}
