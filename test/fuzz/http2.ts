import {
  block,
  frame,
  head,
  MemoryConnection,
  number,
  type Frame,
  type MemoryStream,
} from '../../src/http/http2/memory.testing.ts';
import { Random } from './random.ts';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const GOAWAY = 7;
const WINDOW_UPDATE = 8;

const names = [':path', ':method', 'x-a', 'X', '', 'host', 'te', 'cookie', 'connection', 'content-length'];
const values = ['', '/', 'GET', 'a', ' a', 'a\r\nb', '5', 'app.test', 'trailers', '\xff'];

function payload(random: Random, type: number, mad: boolean): Buffer {
  const noise = (length: number): Buffer => Buffer.from(Array.from({ length }, () => random.below(256)));
  if (mad && random.chance(0.3)) return noise(random.below(40));
  switch (type) {
    case 0:
      return random.chance(0.1) ? Buffer.alloc(random.below(16_500)) : noise(random.below(30));
    case 1:
    case 9: {
      const more = Array.from(
        { length: random.below(4) },
        () => [random.pick(names), random.pick(values)] as const,
      );
      const bytes = random.chance(0.7) ? head(random.pick(['GET', 'POST']), ...more) : block(...more);
      return mad ? bytes.subarray(0, random.below(bytes.length + 1)) : bytes;
    }
    case 2:
      return Buffer.concat([number(random.below(12)), Buffer.from([1])]);
    case 4:
      return random.chance(0.3)
        ? Buffer.alloc(0)
        : Buffer.concat([
            Buffer.from([0, random.below(9)]),
            number(random.pick([0, 1, 10, 70_000, 16_384, 2 ** 31])),
          ]);
    case 6:
      return noise(8);
    case 7:
      return Buffer.alloc(8);
    default:
      return number(mad ? random.pick([0, 0x7fff_ffff]) : 1 + random.below(100_000));
  }
}

/** The bytes of an HTTP/2 client that goes mad at a random moment. */
function session(random: Random): Buffer {
  const frames = [random.chance(0.98) ? PREFACE : PREFACE.subarray(1), frame(4, 0, 0)];
  let next = 1;
  // The madder the fewer of its frames are read.
  const sane = random.pick([0.8, 0.95, 0.99, 1]);
  for (let i = random.below(40); i > 0; i--) {
    const mad = !random.chance(sane);
    const type = random.pick(mad ? [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11] : [0, 0, 0, 1, 1, 1, 3, 6, 8, 11]);
    const opens = type === 1 && !mad;
    const known = Math.max(1, next - 2);
    const stream = opens ? next : mad ? random.below(8) : random.chance(0.7) ? known : 1;
    if (opens) next += 2;
    // Before the first stream there is nothing to speak of.
    if (!mad && !opens && next === 1 && type < 9) continue;
    const whole = [4, 6, 7].includes(type) && (!mad || random.chance(0.5));
    const flags = mad ? random.below(256) : type === 1 ? random.pick([4, 5]) : 0;
    frames.push(frame(type, flags, whole ? 0 : stream, payload(random, type, mad)));
  }
  return Buffer.concat(frames);
}

/** Answers in one of some ways, which depends on nothing but the stream. */
function serve(one: MemoryStream): void {
  const { stream } = one;
  const way = (stream.id >>> 1) % 5;
  if (way === 4) return;
  if (way === 3) {
    stream.reset(8);
    return;
  }
  stream.inbound.resume();
  one.respond('HTTP/1.1 200 OK\r\nX-A: b\r\nConnection: close\r\n\r\n', way === 0);
  if (way === 1) stream.send(Buffer.alloc(20_000, 'a'), 0, 20_000, true);
  if (way === 2) {
    stream.send(Buffer.alloc(70_000, 'b'), 0, 70_000, false);
    stream.sendTrailers([['x-sum', '1']]);
    stream.closeWhenSent();
  }
}

interface Result {
  readonly frames: readonly Frame[];
  readonly error: number | undefined;
  readonly seen: readonly unknown[];
}

function run(pieces: readonly Buffer[]): Result {
  const connection = new MemoryConnection(serve);
  for (const piece of pieces) connection.take(piece);
  // Twice: what waited for room goes out behind it.
  const frames = [...connection.written(), ...connection.written()];
  return {
    frames,
    error: connection.error,
    seen: connection.streams.map(({ stream, request, body, trailers, closed }) => [
      stream.id,
      request,
      body,
      trailers,
      closed,
    ]),
  };
}

function cut(random: Random, bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  const most = random.pick([1, 3, 50, 5_000]);
  for (let at = 0; at < bytes.length;) {
    const end = at + 1 + random.below(most);
    pieces.push(bytes.subarray(at, end));
    at = end;
  }
  return pieces;
}

/** When the client is told that it may send more is the only thing that pieces may change. */
const outline = ({ frames, error, seen }: Result): string =>
  JSON.stringify([
    frames
      .filter(({ type }) => type !== WINDOW_UPDATE)
      .map(({ type, flags, stream, payload: bytes }) => [type, flags, stream, bytes.toString('latin1')]),
    error,
    seen,
  ]);

export interface Http2Outcome {
  readonly cases: number;
  /** Sessions that ended with GOAWAY, and those that did not. */
  readonly ended: number;
  readonly sound: number;
  readonly problems: readonly string[];
}

/** Sends random sessions to the codec, whole and in pieces: both must come to the same, and to a defined end. */
export function tryHttp2(seed: number, cases: number): Http2Outcome {
  const random = new Random(seed);
  const problems: string[] = [];
  let ended = 0;
  for (let i = 0; i < cases; i++) {
    const bytes = session(random);
    try {
      const whole = run([bytes]);
      const pieces = run(cut(random, bytes));
      if (outline(whole) !== outline(pieces)) problems.push(`pieces differ: ${bytes.toString('hex')}`);
      const goodbyes = whole.frames.filter(({ type }) => type === GOAWAY).length;
      if (goodbyes !== (whole.error === undefined ? 0 : 1)) problems.push(`GOAWAY: ${bytes.toString('hex')}`);
      if (whole.error !== undefined) ended++;
    } catch (error) {
      problems.push(`${String(error)}: ${bytes.toString('hex')}`);
    }
  }
  return { cases, ended, sound: cases - ended, problems };
}
