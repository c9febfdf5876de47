import { CODE, FLAG, FRAME } from './codes.ts';

const CONNECTION = 1;
const STREAM = 2;
const EITHER = 3;

/** The allowed place of frames of each type, and the length of their payloads: exact, or -1 (RFC 9113 §6). */
const rules: readonly (readonly [place: number, length: number])[] = [
  /* DATA */ [STREAM, -1],
  /* HEADERS */ [STREAM, -1],
  /* PRIORITY */ [STREAM, 5],
  /* RST_STREAM */ [STREAM, 4],
  /* SETTINGS */ [CONNECTION, -1],
  /* PUSH_PROMISE, which is for servers */ [0, -1],
  /* PING */ [CONNECTION, 8],
  /* GOAWAY */ [CONNECTION, -1],
  /* WINDOW_UPDATE */ [EITHER, 4],
  /* CONTINUATION */ [STREAM, -1],
];

/**
 * Checks the head of a frame by itself. Streams with even numbers would be ours, and we open none.
 * @returns a code of RFC 9113 §7, 0 where all is well
 */
export function checkFrame(
  type: number,
  flags: number,
  stream: number,
  length: number,
  most: number,
): number {
  if (length > most) return CODE.frameSize;
  const rule = rules[type];
  // Types that nobody knows mean nothing (RFC 9113 §4.1).
  if (rule === undefined) return CODE.none;
  const [place, exactly] = rule;
  if (stream === 0 ? (place & CONNECTION) === 0 : (place & STREAM) === 0) return CODE.protocol;
  if (stream !== 0 && (stream & 1) === 0 && type !== FRAME.priority) return CODE.protocol;
  if (exactly !== -1 && length !== exactly) return CODE.frameSize;
  switch (type) {
    case FRAME.settings:
      return (flags & FLAG.ack) !== 0 && length > 0 ? CODE.frameSize : CODE.none;
    case FRAME.goAway:
      return length < 8 ? CODE.frameSize : CODE.none;
    case FRAME.data:
      return (flags & FLAG.padded) !== 0 && length === 0 ? CODE.frameSize : CODE.none;
    case FRAME.headers: {
      const least = ((flags & FLAG.padded) !== 0 ? 1 : 0) + ((flags & FLAG.priority) !== 0 ? 5 : 0);
      return length < least ? CODE.frameSize : CODE.none;
    }
    default:
      return CODE.none;
  }
}
