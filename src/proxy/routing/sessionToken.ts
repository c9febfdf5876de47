import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** The content of a session token, readable with the key. */
export interface SessionToken {
  /** Tags of the backend and of its address. */
  readonly backend: string;
  readonly endpoint: string;
  /** Seconds since the epoch. */
  readonly begun: number;
  readonly seen: number;
}

const BACKEND = 5;
const ENDPOINT = 8;
const TIME = 5;
const PAYLOAD = BACKEND + ENDPOINT + 2 * TIME;
const MAC = 11;

/** Without a configured key, only this process knows its sessions. */
const ownKey = randomBytes(32);

/**
 * Writes and reads the tokens of the sessions of one route. A token names an address by a keyed hash of it, so that it
 * tells a client nothing about the network behind the gateway, and nobody can choose an address or make a session last.
 */
export class SessionTokens {
  private readonly key: Buffer;

  /**
   * @param key 64 hex digits
   * @param route tokens of another route are worth nothing here
   */
  constructor(key: string | undefined, route: string) {
    const root = key === undefined ? ownKey : Buffer.from(key, 'hex');
    this.key = createHmac('sha256', root).update(`portcullis session persistence 1\0${route}`).digest();
  }

  backendTag(key: string): string {
    return this.tag(`backend\0${key}`, BACKEND);
  }

  endpointTag(backend: string, endpoint: string): string {
    return this.tag(`endpoint\0${backend}\0${endpoint}`, ENDPOINT);
  }

  write({ backend, endpoint, begun, seen }: SessionToken): string {
    const bytes = Buffer.alloc(PAYLOAD + MAC);
    bytes.write(backend, 0, 'base64url');
    bytes.write(endpoint, BACKEND, 'base64url');
    bytes.writeUIntBE(begun, BACKEND + ENDPOINT, TIME);
    bytes.writeUIntBE(seen, BACKEND + ENDPOINT + TIME, TIME);
    this.mac(bytes).copy(bytes, PAYLOAD);
    return bytes.toString('base64url');
  }

  /** Undefined where the token was not written here, or was altered. */
  read(text: string): SessionToken | undefined {
    const bytes = Buffer.from(text, 'base64url');
    if (bytes.length !== PAYLOAD + MAC || !timingSafeEqual(this.mac(bytes), bytes.subarray(PAYLOAD)))
      return undefined;
    return {
      backend: bytes.toString('base64url', 0, BACKEND),
      endpoint: bytes.toString('base64url', BACKEND, BACKEND + ENDPOINT),
      begun: bytes.readUIntBE(BACKEND + ENDPOINT, TIME),
      seen: bytes.readUIntBE(BACKEND + ENDPOINT + TIME, TIME),
    };
  }

  private tag(text: string, length: number): string {
    return createHmac('sha256', this.key).update(text).digest().toString('base64url', 0, length);
  }

  private mac(bytes: Buffer): Buffer {
    return createHmac('sha256', this.key)
      .update('token\0')
      .update(bytes.subarray(0, PAYLOAD))
      .digest()
      .subarray(0, MAC);
  }
}
