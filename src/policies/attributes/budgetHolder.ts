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
  const holder = named ? `${identity!.issuer}\n${subject}` : '';
  return user === undefined && apiKey === undefined
    ? `subject ${holder}`
    : `caller ${JSON.stringify([holder, user ?? null, apiKey?.id ?? null])}`;
}
