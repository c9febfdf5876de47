/** Descriptions at URLs, whose references may lead to other documents of origins that the operator names. */

import { messageOf } from '../../../errorText.ts';
import { fetchText, shownUrl, type FetchOptions, type FetchedText } from '../../../files/index.ts';
import type { OperationChoice } from '../../../model/index.ts';
import type { Description } from '../description/describe.ts';
import { describeLinkedElsewhere } from '../description/describeElsewhere.ts';
import { DescriptionError } from '../description/descriptionText.ts';
import { maxDocuments } from '../description/linkedDocuments.ts';

export interface LinkedDescription extends Description {
  /** All documents as one text, which differs when one of them does. */
  readonly whole: string;
  /** The shortest time for which a document is fresh, as its server says. */
  readonly maxAgeMs: number | undefined;
}

/** The description as it was fetched. */
interface Fetched extends FetchedText {
  readonly url: string;
}

interface LinkedOptions {
  readonly choice: OperationChoice;
  /** Origins to which references may lead. */
  readonly origins: readonly string[];
  /** `timeoutMs` is for all documents together, and `maxBytes` includes the description. */
  readonly fetch: FetchOptions;
}

/**
 * Makes tools out of a description, and of the documents that it refers to.
 * @throws Error with a message fit for the log
 */
export async function describeUrls(
  { url, text, maxAgeMs: freshMs }: Fetched,
  { choice, origins, fetch }: LinkedOptions,
): Promise<LinkedDescription> {
  const until = performance.now() + fetch.timeoutMs;
  const base = new URL(url);
  base.hash = '';
  const texts = new Map<string, string>();
  const ages = [freshMs];
  let left = fetch.maxBytes - Buffer.byteLength(text);
  for (;;) {
    const found = await describeLinkedElsewhere(text, choice, { base: base.href, texts }, fetch.signal);
    if (!('missing' in found)) {
      const whole = JSON.stringify([text, ...texts]);
      const known = ages.filter((age) => age !== undefined);
      return { ...found, whole, maxAgeMs: known.length === 0 ? undefined : Math.min(...known) };
    }
    for (const location of found.missing) {
      if (texts.size >= maxDocuments)
        throw new DescriptionError(`the description refers to more than ${maxDocuments} documents`);
      checkOrigin(location, origins);
      const timeoutMs = Math.max(1, Math.round(until - performance.now()));
      const one = await fetched(location, { ...fetch, timeoutMs, maxBytes: left, sameOrigin: true });
      left -= Buffer.byteLength(one.text);
      texts.set(location, one.text);
      ages.push(one.maxAgeMs);
    }
  }
}

const nameOf = (location: string): string => shownUrl(location).slice(0, 200);

/** @throws DescriptionError */
function checkOrigin(location: string, origins: readonly string[]): void {
  const { origin, username, password } = new URL(location);
  if (!origins.includes(origin))
    throw new DescriptionError(
      `the reference to ${nameOf(location)} leads to a server that \`references\` does not name`,
    );
  if (username !== '' || password !== '')
    throw new DescriptionError('a reference to another document has a password');
}

async function fetched(location: string, options: FetchOptions): Promise<FetchedText> {
  try {
    return await fetchText(location, options);
  } catch (error) {
    throw new Error(`the referenced document ${nameOf(location)}: ${messageOf(error)}`, { cause: error });
  }
}
