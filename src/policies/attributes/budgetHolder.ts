import { networkOf } from '../../http/index.ts';
import type { Exchange } from '../policy.ts';

/**
 * The holder of the budgets that the caller uses. A token without a subject counts under the address it comes
 * from: a client can get any number of such tokens.
 */
export function budgetHolderOf({
  identity,
  user,
  apiKey,
  request,
}: Pick<Exchange, 'identity' | 'user' | 'apiKey' | 'request'>): string {
  const subject = identity?.subject;
  const named = subject !== undefined && subject !== '';
  if (!named && user === undefined && apiKey === undefined)
    return `address ${networkOf(request.remoteAddress)}`;
  if (named && user === undefined && apiKey === undefined) return ofSubject(identity!);
  const holder = named ? `${identity!.issuer}\n${subject}` : '';
  return `caller ${JSON.stringify([holder, user ?? null, apiKey?.id ?? null])}`;
}

/** The requests with one token have one identity: the same text, which need not be hashed again. */
const holders = new WeakMap<object, string>();

function ofSubject(identity: NonNullable<Exchange['identity']>): string {
  const known = holders.get(identity);
  if (known !== undefined) return known;
  const holder = `subject ${identity.issuer}\n${identity.subject}`;
  holders.set(identity, holder);
  return holder;
}
