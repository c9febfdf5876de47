import { hash } from 'node:crypto';
import type { Script } from './store.ts';

/** @param lua the text of the script */
export const script = (use: Script['use'], lua: string): Script => ({ use, lua, digest: hash('sha1', lua) });
