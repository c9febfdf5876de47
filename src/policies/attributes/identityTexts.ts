import type { Exchange } from '../policy.ts';

type Identity = NonNullable<Exchange['identity']>;

/** All requests with one token have one identity, so they share a text, which V8 hashes and compares only once. */
function textOf(make: (identity: Identity) => string): (identity: Identity) => string {
  const texts = new WeakMap<Identity, string>();
  return (identity) => {
    let text = texts.get(identity);
    if (text === undefined) texts.set(identity, (text = make(identity)));
    return text;
  };
}

/** Names the subject of an identity among the subjects of all issuers. */
export const subjectOf = textOf(({ issuer, subject }) => `${issuer}\n${subject}`);

/** The same as the holder of budgets. */
export const subjectHolder = textOf((identity) => `subject ${subjectOf(identity)}`);
