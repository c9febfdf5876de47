/** The facts that a TLS client states before anything is encrypted (RFC 8446 §4.1.2). */
export interface ClientHello {
  /** Host name asked for (RFC 6066 §3), lower case and without a dot at its end. */
  readonly serverName: string | undefined;
  /** Protocols offered (RFC 7301), the best first. */
  readonly protocols: readonly string[];
}

/** The first byte of every TLS connection: a record of the handshake. */
export const HANDSHAKE = 22;

const CLIENT_HELLO = 1;
const RECORD_HEAD = 5;
const RECORD_MOST = 16_384;
/** A hello is a few hundred bytes; with post-quantum key shares and every extension there is, a few thousand. */
const HELLO_MOST = 32_768;
/** Records of a hello: each read begins anew with the first one. No client cuts its hello into so many. */
const RECORDS_MOST = 1_024;
/** Bytes in front of a message: its type and its length. */
const MESSAGE_HEAD = 4;

const SERVER_NAME = 0;
const ALPN = 16;

const name = /^(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}$/;

/**
 * Reads the hello at the start of a connection. It decides which certificate is shown, or where the connection goes,
 * so anything that two readers could take differently is refused.
 *
 * @returns `incomplete` while more bytes are needed, undefined for what is no sound hello
 */
export function readClientHello(bytes: Buffer): ClientHello | 'incomplete' | undefined {
  const message = handshakeMessage(bytes);
  if (message === 'incomplete' || message === undefined) return message;
  try {
    return readHello(new Reader(message));
  } catch {
    return undefined;
  }
}

/** The first message of the handshake, put together from its records. */
function handshakeMessage(bytes: Buffer): Buffer | 'incomplete' | undefined {
  const parts: Buffer[] = [];
  let head: Buffer = Buffer.alloc(0);
  let gathered = 0;
  let at = 0;
  for (;;) {
    if (at < bytes.length && bytes[at] !== HANDSHAKE) return undefined;
    if (at + 1 < bytes.length && bytes[at + 1] !== 3) return undefined;
    if (bytes.length - at < RECORD_HEAD) return 'incomplete';
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0 || length > RECORD_MOST || parts.length === RECORDS_MOST) return undefined;
    const part = bytes.subarray(at + RECORD_HEAD, at + RECORD_HEAD + length);
    parts.push(part);
    gathered += part.length;
    at += RECORD_HEAD + length;
    if (head.length < MESSAGE_HEAD) head = Buffer.concat([head, part]);
    if (head.length >= 1 && head[0] !== CLIENT_HELLO) return undefined;
    if (head.length >= MESSAGE_HEAD) {
      const wanted = MESSAGE_HEAD + head.readUIntBE(1, 3);
      if (wanted > HELLO_MOST) return undefined;
      // The parts are put together once: a hello of single bytes would take seconds otherwise.
      if (gathered >= wanted) return Buffer.concat(parts).subarray(MESSAGE_HEAD, wanted);
    }
    if (part.length < length) return 'incomplete';
  }
}

function readHello(reader: Reader): ClientHello {
  reader.skip(2 + 32);
  reader.vector(1, 0, 32);
  reader.vector(2, 2, 65_534);
  reader.vector(1, 1, 255);
  let serverName: string | undefined;
  let protocols: string[] = [];
  const seen = new Set<number>();
  if (!reader.done) {
    const extensions = reader.vector(2, 0, 65_535);
    while (!extensions.done) {
      const type = extensions.number(2);
      const body = extensions.vector(2, 0, 65_535);
      // "There MUST NOT be more than one extension of the same type" (RFC 8446 §4.2).
      if (seen.has(type)) throw new Error('an extension comes twice');
      seen.add(type);
      if (type === SERVER_NAME) serverName = readServerName(body);
      else if (type === ALPN) protocols = readProtocols(body);
    }
  }
  if (!reader.done) throw new Error('more than a hello');
  return { serverName, protocols };
}

function readServerName(body: Reader): string | undefined {
  const list = body.vector(2, 1, 65_535);
  let found: string | undefined;
  while (!list.done) {
    const type = list.number(1);
    const text = list.vector(2, 1, 65_535).text().toLowerCase().replace(/\.$/, '');
    if (type !== 0 || found !== undefined || text.length > 253 || !name.test(text))
      throw new Error('not one host name');
    found = text;
  }
  if (!body.done) throw new Error('more than a list');
  return found;
}

function readProtocols(body: Reader): string[] {
  const list = body.vector(2, 2, 65_535);
  const protocols: string[] = [];
  while (!list.done) protocols.push(list.vector(1, 1, 255).text());
  if (!body.done) throw new Error('more than a list');
  return protocols;
}

/** Bytes read from their front. Every method throws where they end too early. */
class Reader {
  private readonly bytes: Buffer;
  private at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get done(): boolean {
    return this.at === this.bytes.length;
  }

  number(width: number): number {
    const value = this.bytes.readUIntBE(this.at, width);
    this.at += width;
    return value;
  }

  skip(length: number): void {
    this.take(length);
  }

  /** A vector (RFC 8446 §3.4) whose length takes `width` bytes. */
  vector(width: number, least: number, most: number): Reader {
    const length = this.number(width);
    if (length < least || length > most) throw new Error('a length out of range');
    return new Reader(this.take(length));
  }

  text(): string {
    return this.bytes.toString('latin1');
  }

  private take(length: number): Buffer {
    if (length > this.bytes.length - this.at) throw new Error('cut short');
    const taken = this.bytes.subarray(this.at, this.at + length);
    this.at += length;
    return taken;
  }
}
