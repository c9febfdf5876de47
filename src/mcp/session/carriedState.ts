import { createHash, timingSafeEqual } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { McpTarget } from '../../model/index.ts';
import { identityOf } from '../targets/facts.ts';
import { isSupportedVersion } from '../messages/versions.ts';

/** The state of a session that its id carries, for a process that does not hold the session. */
export interface CarriedState {
  /** When it began, in milliseconds since the epoch. */
  readonly beganAt: number;
  /** The owner, as `principalMark` names it. */
  readonly principal: Buffer;
  /** The server, as `serverMark` names it. */
  readonly server: Buffer;
  /** The revision that was agreed on; undefined where the server named none. */
  readonly version: string | undefined;
  /** As the server named the session; undefined where it keeps none. */
  readonly serverSession: string | undefined;
  /** The one address that knows it, `host:port`; undefined where any will do. */
  readonly address: string | undefined;
  /** The params of the client's `initialize`, for a session that begins anew at its servers. JSON text. */
  readonly initialize?: string;
}

const timeLength = 6;
const principalLength = 32;
const serverLength = 16;
/** The lengths of two texts stand behind the rest; the third goes to the end. */
const fixedLength = timeLength + principalLength + serverLength + 2;
/** Characters: with more the id of the gateway would not fit into a header well. */
const maxServerSession = 512;
const maxAddress = 255;

/** As bytes; undefined where something is too long, or the revision is none of ours. */
export function carriedState(state: CarriedState): Buffer | undefined {
  const { version = '', serverSession = '', address = '' } = state;
  if (serverSession.length > maxServerSession || address.length > maxAddress) return undefined;
  if (version !== '' && !isSupportedVersion(version)) return undefined;
  const fixed = Buffer.alloc(fixedLength);
  let at = fixed.writeUIntBE(state.beganAt, 0, timeLength);
  at += state.principal.copy(fixed, at);
  at += state.server.copy(fixed, at);
  at = fixed.writeUInt8(version.length, at);
  fixed.writeUInt8(address.length, at);
  return Buffer.concat([fixed, Buffer.from(version + address + serverSession, 'latin1')]);
}

/** The longest `initialize` that an id may unfold to. */
const maxInitialize = 65_536;

/** The state of a session that begins anew, as bytes; undefined where that is too much for an id. */
export const revivedState = (state: CarriedState & { readonly initialize: string }): Buffer | undefined =>
  carriedState({
    ...state,
    address: undefined,
    serverSession: deflateRawSync(state.initialize).toString('latin1'),
  });

/** Reads what `revivedState` wrote; undefined for anything else. */
export function readRevived(bytes: Buffer): CarriedState | undefined {
  const state = readCarried(bytes);
  if (state?.serverSession === undefined) return undefined;
  try {
    const packed = Buffer.from(state.serverSession, 'latin1');
    const initialize = inflateRawSync(packed, { maxOutputLength: maxInitialize }).toString();
    return { ...state, serverSession: undefined, initialize };
  } catch {
    return undefined;
  }
}

/** Reads what `carriedState` wrote; undefined for anything else. */
export function readCarried(bytes: Buffer): CarriedState | undefined {
  if (bytes.length < fixedLength) return undefined;
  const addressAt = fixedLength + bytes.readUInt8(fixedLength - 2);
  const sessionAt = addressAt + bytes.readUInt8(fixedLength - 1);
  if (sessionAt > bytes.length) return undefined;
  const text = (from: number, to: number): string | undefined =>
    from === to ? undefined : bytes.toString('latin1', from, to);
  const version = text(fixedLength, addressAt);
  if (version !== undefined && !isSupportedVersion(version)) return undefined;
  const serverAt = timeLength + principalLength;
  return {
    beganAt: bytes.readUIntBE(0, timeLength),
    principal: bytes.subarray(timeLength, serverAt),
    server: bytes.subarray(serverAt, serverAt + serverLength),
    version,
    address: text(addressAt, sessionAt),
    serverSession: text(sessionAt, bytes.length),
  };
}

const hash = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Tells callers apart, anonymous ones from all others too, whatever a name may look like. */
export const principalMark = (principal: string | undefined): Buffer =>
  hash(principal === undefined ? 'nobody' : `somebody\n${principal}`);

/**
 * Tells servers apart: a session is not to be shown to another one. Addresses come and go behind a name, so they are
 * no part of it; neither is what policies say to the server.
 */
export const serverMark = (target: McpTarget): Buffer =>
  hash(JSON.stringify([target.name, ...identityOf(target)])).subarray(0, serverLength);

/** Stands for the servers of a session with several: each of them begins anew. */
export const severalServers: Buffer = hash('several servers').subarray(0, serverLength);

export const sameMark = (one: Buffer, other: Buffer): boolean => timingSafeEqual(one, other);
