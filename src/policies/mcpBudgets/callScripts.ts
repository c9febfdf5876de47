/**
 * The calls in progress under one key, in Lua: a sorted set of the ids of calls, by the time when each is forgotten.
 * KEYS: the set.
 */

import { script, storeTime } from '../../store/index.ts';

const put = (id: string): string =>
  `redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[1]), ${id})`;
const expire = `redis.call('PEXPIRE', KEYS[1], ARGV[1])`;

/**
 * Adds a call where there is room for it.
 * ARGV: the time until the call is forgotten, in milliseconds; the most calls; the id. Answer: 1, or 0 without room.
 */
export const enterScript = script(
  'budgets',
  `${storeTime}redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
${put('ARGV[3]')}
${expire}
return 1`,
);

/** Keeps calls that go on, and adds those that the store does not know. ARGV: the time, then the ids. */
export const keepScript = script(
  'budgets',
  `${storeTime}for i = 2, #ARGV do
  ${put('ARGV[i]')}
end
${expire}
return 1`,
);

/** Removes calls that are over. ARGV: the ids. */
export const leaveScript = script('budgets', `return redis.call('ZREM', KEYS[1], unpack(ARGV))`);
