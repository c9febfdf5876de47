import { hash } from 'node:crypto';
import type { Script } from './store.ts';

/**
 * Lines of a script that needs the time: `now` is that of the store, in milliseconds since the epoch. It is the same for
 * all replicas.
 */
export const storeTime = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/** A part of the name of a key: a digest shows no caller, and its length is bounded. */
export const keyDigest = (text: string): string => hash('sha256', text, 'base64url').slice(0, 22);

/** @param lua the text of the script */
export const script = (use: Script['use'], lua: string): Script => ({ use, lua, digest: hash('sha1', lua) });
