import {
  Body,
  COMPLETE,
  hasNoBody,
  Head,
  INCOMPLETE,
  parseAuthority,
  parseRequest,
  parseResponse,
  readTarget,
  type HeadLimits,
} from '../../src/http/index.ts';
import type { Reading, Seen } from './seen.ts';

const limits: HeadLimits = {
  maxHeadBytes: 65_536,
  maxUriBytes: 16_384,
  maxMethodBytes: 16_384,
  maxHeaderNameBytes: 16_384,
};

/** Reads requests as a client's connection does. */
export function readRequests(bytes: Buffer): Reading {
  const reading: Reading = { messages: [], refusal: undefined, closed: false };
  let at = 0;
  while (at < bytes.length) {
    while (bytes[at] === 13 && bytes[at + 1] === 10) at += 2;
    const head = new Head(100);
    const result = parseRequest(bytes, at, bytes.length, head, limits);
    if (result === INCOMPLETE) return reading;
    if (result !== COMPLETE) return refuse(reading, head.problem);
    head.text = bytes.toString('latin1', at, at + head.length);
    at += head.length;
    if (readTarget(head.target, head.method) === undefined) return refuse(reading, 'target');
    if (head.host !== -1 && parseAuthority(head.value(head.host)) === undefined)
      return refuse(reading, 'host');
    const seen = add(reading, head.method, head.target, head);
    const body = new Body();
    if (head.chunked) body.startChunked();
    else body.startLength(Math.max(0, head.contentLength));
    at = readBody(body, bytes, at, seen, reading);
    if (at < 0 || !seen.complete) return reading;
    if (head.close || (head.http10 && !head.keepAlive)) {
      reading.closed = true;
      return reading;
    }
  }
  return reading;
}

/** Reads the answer to one GET as a backend connection does; `ended`: the backend closed behind it. */
export function readAnswer(bytes: Buffer): Reading {
  const reading: Reading = { messages: [], refusal: undefined, closed: false };
  let at = 0;
  for (;;) {
    const head = new Head(256);
    const result = parseResponse(bytes, at, bytes.length, head, limits);
    if (result === INCOMPLETE) return refuse(reading, 'incomplete head');
    if (result !== COMPLETE) return refuse(reading, head.problem);
    head.text = bytes.toString('latin1', at, at + head.length);
    at += head.length;
    if (head.status === 101) return refuse(reading, 'upgrade');
    const seen = add(reading, String(head.status), '', head);
    if (head.status < 200) {
      seen.complete = true;
      if (at === bytes.length) return refuse(reading, 'incomplete');
      continue;
    }
    const body = new Body();
    if (hasNoBody(head.status)) body.startNone();
    else if (head.chunked) body.startChunked('answer');
    else if (head.contentLength >= 0) body.startLength(head.contentLength);
    else {
      seen.body = bytes.toString('latin1', at);
      seen.complete = true;
      reading.closed = true;
      return reading;
    }
    readBody(body, bytes, at, seen, reading);
    reading.closed = true;
    return reading;
  }
}

function refuse(reading: Reading, problem: string): Reading {
  reading.refusal = problem;
  return reading;
}

function add(reading: Reading, start: string, target: string, head: Head): Seen {
  const seen: Seen = { start, target, fields: head.lines(), body: '', complete: false };
  reading.messages.push(seen);
  return seen;
}

/** @returns where the next message starts, -1 for bad framing */
function readBody(body: Body, bytes: Buffer, from: number, seen: Seen, reading: Reading): number {
  const sink = (chunk: Buffer, start: number, end: number): void => {
    seen.body += chunk.toString('latin1', start, end);
  };
  const chunked = body.kind === 2;
  const end = body.done ? from : body.take(bytes, from, bytes.length, chunked ? sink : undefined);
  if (end < 0) {
    reading.refusal = 'bad chunk';
    return -1;
  }
  if (!chunked) seen.body = bytes.toString('latin1', from, end);
  seen.complete = body.done;
  return end;
}
