import { createHash, createHmac, hkdfSync, randomBytes, randomUUID } from 'node:crypto';
import { decrypt, encrypt, ivLength } from '../replicas/sealing.ts';
import { carriedState, readCarried, readRevived, revivedState, type CarriedState } from './carriedState.ts';

/** The content of a session id, readable with the key. */
export interface SessionTicket {
  /** Hash of the key of the backend the session belongs to. */
  readonly backend: string;
  /** The process that began the session, and holds it while it runs. */
  readonly owner: string;
  /** Random, 128 bits: tells the session from all others, whatever else its id says. */
  readonly local: string;
  /** The state that another process needs to continue; absent if none can. */
  readonly carried: CarriedState | undefined;
}

const plain = 1;
const carrying = 2;
const reviving = 3;
const localLength = 16;
const backendLength = 8;
const ownerLength = 8;
const headLength = 1 + localLength + backendLength + ownerLength;
const sessionUse = Buffer.from('portcullis mcp session 1');
const taskUse = Buffer.from('portcullis mcp task 1');
const stateUse = Buffer.from('portcullis mcp request state 1');

/** Characters of an id: it goes into a header of every request, beside tokens and cookies. */
export const maxIdLength = 1_024;

/**
 * Seals session ids with AES-256-GCM: a client can neither read where a session lives nor make up an id. Random
 * 96-bit nonces are safe for some 2^32 ids under one key (NIST SP 800-38D §8.3).
 */
export class SessionSeal {
  /** Names this process in the ids it makes. */
  readonly owner: string;
  private readonly key: Buffer;

  /**
   * @param key 64 hex digits; without it a random key is made and ids die with the process
   * @param owner 16 hex digits, where others must know this process by them; random ones unless given
   */
  constructor(key?: string, owner: string = randomBytes(ownerLength).toString('hex')) {
    if (!/^[0-9a-f]{16}$/.test(owner)) throw new TypeError('session owner must be 16 hexadecimal digits');
    this.owner = owner;
    if (key !== undefined && !/^[0-9a-fA-F]{64}$/.test(key))
      throw new TypeError('session key must be 64 hexadecimal digits');
    this.key = key === undefined ? randomBytes(32) : Buffer.from(key, 'hex');
  }

  /** A fresh id for a session of this process, and its content. */
  begin(backendKey: string): { readonly id: string; readonly ticket: SessionTicket } {
    const local = randomBytes(localLength);
    const backend = backendHash(backendKey).toString('hex');
    return {
      id: this.write(plain, local, backendKey, Buffer.alloc(0)),
      ticket: { local: local.toString('hex'), backend, owner: this.owner, carried: undefined },
    };
  }

  /** Another id of the same session, which says what it takes to go on with it; undefined where that is too much. */
  sealCarrying(id: string, backendKey: string, state: CarriedState): string | undefined {
    const ticket = this.open(id);
    const { initialize } = state;
    const isAnew = initialize !== undefined;
    const rest = isAnew ? revivedState({ ...state, initialize }) : carriedState(state);
    if (ticket === undefined || rest === undefined) return undefined;
    const sealed = this.write(
      isAnew ? reviving : carrying,
      Buffer.from(ticket.local, 'hex'),
      backendKey,
      rest,
    );
    return sealed.length > maxIdLength ? undefined : sealed;
  }

  private write(format: number, local: Buffer, backendKey: string, rest: Buffer): string {
    const head = [Buffer.of(format), local, backendHash(backendKey), Buffer.from(this.owner, 'hex')];
    return this.encrypt(randomBytes(ivLength), Buffer.concat([...head, rest]), sessionUse);
  }

  /**
   * A handle that only this key can make or read. The same payload always gives the same handle: clients compare the
   * ids of tasks. Its nonce is made of the payload, so no nonce serves two payloads.
   */
  sealTask(payload: Buffer): string {
    const iv = createHmac('sha256', this.key).update(taskUse).update(payload).digest().subarray(0, ivLength);
    return this.encrypt(iv, payload, taskUse);
  }

  /** Reads what `sealTask` wrote; undefined for anything else. */
  openTask(handle: string): Buffer | undefined {
    return this.decrypt(handle, taskUse);
  }

  /** The `requestState` of a call that waits for answers of its client (MCP 2026-07-28). */
  sealState(payload: Buffer): string {
    return this.encrypt(randomBytes(ivLength), payload, stateUse);
  }

  /** Reads what `sealState` wrote; undefined for anything else. */
  openState(state: string): Buffer | undefined {
    return state.length > maxIdLength ? undefined : this.decrypt(state, stateUse);
  }

  private encrypt(iv: Buffer, payload: Buffer, use: Buffer): string {
    return encrypt(this.key, iv, payload, use);
  }

  private decrypt(text: string, use: Buffer): Buffer | undefined {
    return decrypt(this.key, text, use);
  }

  /** A name that tells nothing of the thing it stands for. @param kind of thing */
  nameFor(kind: string, text: string): string {
    const digest = createHmac('sha256', this.key).update(`portcullis mcp ${kind} name\n`).update(text);
    return digest.digest('hex').slice(0, 32);
  }

  /** The key for the texts of one session that are kept outside of this process. @param principal as `principalMark` names it */
  keyOf(use: string, { local }: Pick<SessionTicket, 'local'>, principal: Buffer): Buffer {
    const info = Buffer.concat([Buffer.from(`portcullis mcp ${use}\n`), principal]);
    return Buffer.from(hkdfSync('sha256', this.key, Buffer.from(local, 'hex'), info, 32));
  }

  /** Reads an id; undefined where it was not made with this key, was altered, or is spelled in another way. */
  open(id: string): SessionTicket | undefined {
    if (id.length > maxIdLength) return undefined;
    const payload = this.decrypt(id, sessionUse);
    if (payload === undefined || payload.length < headLength) return undefined;
    const rest = payload.subarray(headLength);
    const carried = readState(payload[0]!, rest);
    // Made with our key by another version of this program.
    if (carried === undefined && (payload[0] !== plain || rest.length > 0)) return undefined;
    const hex = (from: number, length: number): string => payload.toString('hex', from, from + length);
    return {
      local: hex(1, localLength),
      backend: hex(1 + localLength, backendLength),
      owner: hex(1 + localLength + backendLength, ownerLength),
      carried,
    };
  }

  /** Was the ticket made for a backend with this key? */
  isOf({ backend }: SessionTicket, backendKey: string): boolean {
    return backendHash(backendKey).toString('hex') === backend;
  }
}

function readState(format: number, rest: Buffer): CarriedState | undefined {
  if (format === carrying) return readCarried(rest);
  return format === reviving ? readRevived(rest) : undefined;
}

function backendHash(key: string): Buffer {
  return createHash('sha256').update(key).digest().subarray(0, backendLength);
}

/** No header begins with a space, so no client can send such an id. */
const untold = ' ';
const labelLength = 12;

/** The id and the label of a session whose client gets no id. */
export function untoldId(): { readonly id: string; readonly label: string } {
  const random = randomUUID();
  return { id: untold + random, label: random.slice(-labelLength) };
}

export const isUntold = (id: string): boolean => id.startsWith(untold);

/** A name for a session that may stand in logs, the same wherever it is held: it cannot be turned back into the id. */
export function sessionLabel({ local }: Pick<SessionTicket, 'local'>): string {
  return createHash('sha256').update(local).digest('hex').slice(0, labelLength);
}
