import { networkOf } from '../../http/index.ts';
import type { Exchange } from '../policy.ts';
import { subjectHolder, subjectOf } from './identityTexts.ts';

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
  if (named && user === undefined && apiKey === undefined) return subjectHolder(identity!);
  const holder = named ? subjectOf(identity!) : '';
  return `caller ${JSON.stringify([holder, user ?? null, apiKey?.id ?? null])}`;
}
