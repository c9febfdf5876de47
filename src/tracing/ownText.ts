import { ownCopy } from '../ownCopy.ts';
import { maxAttribute } from './contract.ts';

/** The beginning of a text, which waits for the collector: a piece of the head of a request would keep the whole head alive. */
export const ownText = (text: string): string => ownCopy(text.slice(0, maxAttribute));
