/**
 * The messages of the gRPC service `envoy.service.auth.v3.Authorization`, in the encoding of Protocol Buffers. The field
 * numbers are the contract with services (envoy/service/auth/v3/external_auth.proto and attribute_context.proto).
 */

import type { JsonObject } from '@bufbuild/protobuf';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import type { HeaderLine } from '../../http/index.ts';
import { decodeStruct, eachField, encodeStruct, lengthTag, numberTag, textOf } from '../protobufFields.ts';
import { allowedAsIs, deniedReply, type Decision, type Denied, type HeaderChange } from './decision.ts';

export const checkPath = '/envoy.service.auth.v3.Authorization/Check';

/** An end of the connection with the client. */
export interface Peer {
  readonly address: string;
  readonly port: number;
  /** The verified name of a client; empty without one. */
  readonly principal: string;
}

/** The content of `AttributeContext`. */
export interface CheckedRequest {
  readonly source: Peer;
  readonly destination: Peer;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly id: string;
  readonly method: string;
  /** Names in lower case; pseudo-headers too. Several lines of a name are joined. */
  readonly headers: ReadonlyMap<string, string>;
  /** Path and query. */
  readonly path: string;
  readonly host: string;
  readonly scheme: string;
  /** `HTTP/1.1`. */
  readonly protocol: string;
  /** The name of the TLS handshake; undefined without TLS. */
  readonly serverName: string | undefined;
  /** A text is UTF-8; undefined where the service gets no body. */
  readonly body: string | Buffer | undefined;
  readonly context: Readonly<Record<string, string>>;
  /** Name → object. */
  readonly metadata: Readonly<Record<string, JsonObject>>;
}

/** Encodes `CheckRequest`. */
export function encodeCheck(request: CheckedRequest): Uint8Array {
  const { source, destination, context, metadata, serverName } = request;
  const attributes = new BinaryWriter();
  message(attributes, 1, encodePeer(source));
  message(attributes, 2, encodePeer(destination));
  message(attributes, 4, encodeRequest(request));
  for (const [name, value] of Object.entries(context)) message(attributes, 10, encodePair(name, value));
  const all = new BinaryWriter();
  for (const [name, value] of Object.entries(metadata)) {
    const entry = new BinaryWriter();
    text(entry, 1, name);
    message(entry, 2, encodeStruct(value));
    message(all, 1, entry.finish());
  }
  message(attributes, 11, all.finish());
  if (serverName !== undefined) {
    const session = new BinaryWriter();
    text(session, 1, serverName);
    message(attributes, 12, session.finish());
  }
  const check = new BinaryWriter();
  message(check, 1, attributes.finish());
  return check.finish();
}

/** `AttributeContext.Peer`. */
function encodePeer({ address, port, principal }: Peer): Uint8Array {
  const socket = new BinaryWriter();
  text(socket, 2, address);
  number(socket, 3, port);
  const place = new BinaryWriter();
  message(place, 1, socket.finish());
  const peer = new BinaryWriter();
  message(peer, 1, place.finish());
  text(peer, 4, principal);
  return peer.finish();
}

/** `AttributeContext.Request` with its `HttpRequest`. */
function encodeRequest(given: CheckedRequest): Uint8Array {
  const time = new BinaryWriter();
  number(time, 1, Math.floor(given.time / 1_000));
  number(time, 2, (given.time % 1_000) * 1_000_000);
  const http = new BinaryWriter();
  text(http, 1, given.id);
  text(http, 2, given.method);
  for (const [name, value] of given.headers) message(http, 3, encodePair(name, value));
  text(http, 4, given.path);
  text(http, 5, given.host);
  text(http, 6, given.scheme);
  const { body } = given;
  if (body !== undefined) number(http, 9, Buffer.byteLength(body));
  text(http, 10, given.protocol);
  if (typeof body === 'string') text(http, 11, body);
  else if (body !== undefined) message(http, 12, body);
  const request = new BinaryWriter();
  message(request, 1, time.finish());
  message(request, 2, http.finish());
  return request.finish();
}

/** An entry of a map from texts to texts. */
function encodePair(name: string, value: string): Uint8Array {
  const pair = new BinaryWriter();
  text(pair, 1, name);
  text(pair, 2, value);
  return pair.finish();
}

function text(writer: BinaryWriter, field: number, value: string): void {
  if (value !== '') writer.uint32(lengthTag(field)).string(value);
}

function message(writer: BinaryWriter, field: number, bytes: Uint8Array): void {
  writer.uint32(lengthTag(field)).bytes(bytes);
}

/** @param value of 0 to 2^53 */
function number(writer: BinaryWriter, field: number, value: number): void {
  if (value !== 0) writer.uint32(numberTag(field)).int64(value);
}

/**
 * Decodes `CheckResponse`. A status other than OK refuses the request, whatever else the response has.
 * @throws Error for bytes that are none
 */
export function decodeDecision(bytes: Uint8Array): Decision {
  let status = 0;
  let denied: Denied['reply'];
  let allowed = allowedAsIs;
  let metadata: JsonObject = {};
  let older: JsonObject | undefined;
  eachField(bytes, {
    1: (value) => eachField(value, { 1: (_bytes, code) => (status = code) }),
    2: (value) => (denied = decodeDenied(value)),
    3: (value) => ([allowed, older] = decodeAllowed(value)),
    4: (value) => (metadata = decodeStruct(value)),
  });
  if (status !== 0) return { kind: 'denied', reply: denied, metadata };
  return { ...allowed, metadata: older ?? metadata };
}

/** Changes of one kind in an answer. The work for a change grows with their number. */
const mostChanges = 256;

function put<Change>(list: Change[], change: Change): void {
  if (list.length === mostChanges)
    throw new Error(`the answer has more than ${mostChanges} changes of one kind`);
  list.push(change);
}

/** `DeniedHttpResponse`. */
function decodeDenied(bytes: Uint8Array): Denied['reply'] {
  let status = 0;
  let body = '';
  const headers: HeaderLine[] = [];
  eachField(bytes, {
    1: (value) => eachField(value, { 1: (_bytes, code) => (status = code) }),
    2: (value) => {
      const { name, value: content } = decodeChange(value);
      put(headers, [name, content]);
    },
    3: (value) => (body = textOf(value)),
  });
  return deniedReply(isFinal(status) ? status : 403, headers, body);
}

/** Can a response end with the status? */
const isFinal = (status: number): boolean => status >= 200 && status <= 599;

/** `OkHttpResponse`, and its field for metadata, which older services use. */
function decodeAllowed(bytes: Uint8Array): [typeof allowedAsIs, JsonObject | undefined] {
  const headers: HeaderChange[] = [];
  const removed: string[] = [];
  const responseHeaders: HeaderChange[] = [];
  const parametersSet: [string, string][] = [];
  const parametersRemoved: string[] = [];
  let metadata: JsonObject | undefined;
  eachField(bytes, {
    2: (value) => put(headers, decodeChange(value)),
    3: (value) => (metadata = decodeStruct(value)),
    5: (value) => put(removed, textOf(value).toLowerCase()),
    6: (value) => put(responseHeaders, decodeChange(value)),
    7: (value) => put(parametersSet, decodePair(value)),
    8: (value) => put(parametersRemoved, textOf(value)),
  });
  return [{ ...allowedAsIs, headers, removed, responseHeaders, parametersSet, parametersRemoved }, metadata];
}

/** The actions of `HeaderAppendAction`, by number; 0 is also the absence of one, and `append` decides then. */
const actions: readonly (HeaderChange['action'] | undefined)[] = [
  undefined,
  'setIfAbsent',
  'set',
  'setIfPresent',
];

/** `HeaderValueOption`. In messages of this service, `append` is false by default. */
function decodeChange(bytes: Uint8Array): HeaderChange {
  let [name, value] = ['', ''];
  let raw: string | undefined;
  let isAdded = false;
  let action = 0;
  eachField(bytes, {
    1: (header) =>
      eachField(header, {
        1: (key) => (name = textOf(key).toLowerCase()),
        2: (content) => (value = textOf(content)),
        3: (content) => (raw = Buffer.from(content).toString('latin1')),
      }),
    2: (flag) => eachField(flag, { 1: (_bytes, given) => (isAdded = given !== 0) }),
    3: (_bytes, given) => (action = given),
  });
  return {
    name,
    value: value === '' ? (raw ?? '') : value,
    action: actions[action] ?? (isAdded ? 'add' : 'set'),
  };
}

function decodePair(bytes: Uint8Array): [string, string] {
  let [name, value] = ['', ''];
  eachField(bytes, { 1: (key) => (name = textOf(key)), 2: (content) => (value = textOf(content)) });
  return [name, value];
}
