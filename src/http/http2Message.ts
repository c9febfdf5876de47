import { hash } from 'node:crypto';
import { connectionFields } from './fields.ts';
import type { Head } from './head.ts';

/** Messages of HTTP/2 to and from backends, and the messages of HTTP/1.1 that they stand for (RFC 9113 §8). */

const ofConnection: ReadonlySet<string> = new Set(connectionFields);

/** Lines of a trailer section as names and values. */
export function trailerFields(text: string): [name: string, value: string][] {
  return text
    .split('\r\n')
    .filter((line) => line !== '')
    .map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    });
}

/** The trailers of a request in the form that node:http2 sends: each name with all its values. */
export function requestTrailers(text: string): Record<string, string[]> {
  // A client chooses the names, and `constructor` is one.
  const groups = Object.create(null) as Record<string, string[]>;
  for (const [name, value] of trailerFields(text))
    if (!ofConnection.has(name)) (groups[name] ??= []).push(value);
  return groups;
}

/** The end of a chunked body with its trailers. */
export function lastChunk(trailers: readonly (readonly [name: string, value: string])[]): string {
  return `0\r\n${trailers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

/**
 * The fields of a request for a backend of HTTP/2, names and values by turns.
 * @param protocol asks for a tunnel of that protocol (RFC 8441 §4)
 */
export function requestFields(head: Head, scheme: 'http' | 'https', protocol?: string): string[] {
  const rest: string[] = [];
  let authority = '';
  let grpc = false;
  for (let i = 0; i < head.count; i++) {
    const name = head.name(i).toLowerCase();
    const value = head.value(i);
    if (name === 'host') authority = value;
    // The key and its answer prove nothing here (RFC 8441 §5).
    else if (protocol !== undefined && name === 'sec-websocket-key') continue;
    else if (!ofConnection.has(name) && name !== 'te') rest.push(name, value);
    if (name === 'content-type') grpc ||= value.startsWith('application/grpc');
  }
  // gRPC servers take its absence for a proxy that loses trailers.
  if (grpc) rest.push('te', 'trailers');
  const method = protocol === undefined ? [head.method] : ['CONNECT', ':protocol', protocol];
  return [
    ...[':method', ...method],
    ...[':scheme', scheme, ':authority', authority, ':path', head.target],
    ...rest,
  ];
}

const ownToSwitch = new Set(['content-length', 'sec-websocket-accept']);

/**
 * The head of the answer to a request for a tunnel, which was granted, as the text of the 101 that it stands for.
 * @param fields names and values by turns, as they came
 * @param key of a WebSocket, as the client sent it (RFC 6455 §4.2.2)
 */
export function switchText(fields: readonly string[], protocol: string, key: string | undefined): string {
  let text = `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${protocol}\r\n`;
  if (key !== undefined)
    text += `sec-websocket-accept: ${hash('sha1', `${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`, 'base64')}\r\n`;
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    if (!name.startsWith(':') && !ofConnection.has(name) && !ownToSwitch.has(name))
      text += `${name}: ${(fields[i + 1] as string).replaceAll(/[\r\n\0]/g, '?')}\r\n`;
  }
  return `${text}\r\n`;
}

/**
 * The head of an answer of HTTP/2 as text.
 * @param fields names and values by turns, `:status` first
 * @param framing what the text says of the body beside the fields that came
 */
export function responseText(fields: readonly string[], framing: 'none' | 'chunked' | 'empty'): string {
  let text = '';
  let status = '502';
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    const value = fields[i + 1] as string;
    if (name === ':status') status = value;
    else if (!ofConnection.has(name)) text += `${name}: ${value.replaceAll(/[\r\n\0]/g, '?')}\r\n`;
  }
  const frames = { none: '', chunked: 'transfer-encoding: chunked\r\n', empty: 'content-length: 0\r\n' };
  return `HTTP/1.1 ${status} \r\n${text}${frames[framing]}\r\n`;
}
