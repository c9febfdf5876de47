import { script } from '../store/index.ts';

/** A definition in a hash of the store: its SHA-256 in 64 hexadecimal digits, then the text of a `PinFile`. */

/**
 * Compares a definition with the remembered one. KEYS: pinned definitions of the target, changed ones, the names of all
 * targets. ARGV: item, digest and text of the definition, digest and text that this process remembers (or two empty
 * ones), name of the target, most items.
 *
 * A process that remembers a definition puts it back where the store has lost it: otherwise a server could change a
 * tool while the store is restarted.
 */
export const checkScript = script(
  'pins',
  `local pinned = redis.call('HGET', KEYS[1], ARGV[1])
if not pinned and ARGV[5] ~= '' then
  pinned = ARGV[4] .. ARGV[5]
  redis.call('SADD', KEYS[3], ARGV[6])
  redis.call('HSET', KEYS[1], ARGV[1], pinned)
end
if not pinned then
  if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[7]) then return 'full' end
  redis.call('SADD', KEYS[3], ARGV[6])
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ARGV[3])
  return 'new'
end
if string.sub(pinned, 1, 64) == ARGV[2] then return 'same' end
local changed = redis.call('HGET', KEYS[2], ARGV[1])
if not changed or string.sub(changed, 1, 64) ~= ARGV[2] then
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[2] .. ARGV[3])
end
return 'changed'`,
);

/**
 * KEYS: pinned and changed definitions of the target, approvals of all targets. ARGV: item, digest and text of the
 * definition.
 */
export const approveScript = script(
  'pins',
  `redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ARGV[3])
local changed = redis.call('HGET', KEYS[2], ARGV[1])
if changed and string.sub(changed, 1, 64) == ARGV[2] then redis.call('HDEL', KEYS[2], ARGV[1]) end
redis.call('HINCRBY', KEYS[3], 'count', 1)
return 1`,
);

/** KEYS: approvals of all targets. */
export const approvalsScript = script('pins', `return redis.call('HGET', KEYS[1], 'count')`);

/** KEYS: changed definitions of the target. ARGV: item. */
export const rejectScript = script('pins', `return redis.call('HDEL', KEYS[1], ARGV[1])`);

/** KEYS: the names of all targets. */
export const targetsScript = script('pins', `return redis.call('SMEMBERS', KEYS[1])`);

/** KEYS: pinned, or changed, definitions of a target. */
export const idsScript = script('pins', `return redis.call('HKEYS', KEYS[1])`);

/** KEYS: pinned and changed definitions of a target. ARGV: item. */
export const bothScript = script(
  'pins',
  `return { redis.call('HGET', KEYS[1], ARGV[1]), redis.call('HGET', KEYS[2], ARGV[1]) }`,
);
