import { script, storeTime } from '../../store/index.ts';

/**
 * Takes a token of every bucket, or of none where one is empty: `Bucket` in Lua, by the clock of the store, which is
 * the same for all replicas. A bucket that is full again is not kept: it expires.
 * KEYS: the buckets. ARGV: maxTokens, tokensPerFill and fillInterval (milliseconds) of each.
 * Answer: 1 or 0 for allowed, then capacity, tokens left and milliseconds to the next filling, of the bucket with
 * the fewest tokens, and its index.
 */
export const drawScript = script(
  'rateLimits',
  `${storeTime}local allowed, buckets = 1, {}
for i, key in ipairs(KEYS) do
  local most, fill, interval = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i])
  local kept = redis.call('HMGET', key, 'tokens', 'filledAt')
  local left, filledAt = tonumber(kept[1]), tonumber(kept[2])
  if not left or not filledAt then left, filledAt = most, now end
  if now < filledAt then filledAt = now end
  local fills = math.floor((now - filledAt) / interval)
  if fills > 0 then
    left = math.min(most, left + fills * fill)
    filledAt = filledAt + fills * interval
  end
  if left <= 0 then allowed = 0 end
  buckets[i] = { left = left, filledAt = filledAt, index = i - 1, most = most, fill = fill, interval = interval }
end
local least
for i, key in ipairs(KEYS) do
  local bucket = buckets[i]
  if allowed == 1 then
    bucket.left = bucket.left - 1
    redis.call('HSET', key, 'tokens', bucket.left, 'filledAt', string.format('%.0f', bucket.filledAt))
    local full = bucket.filledAt + math.ceil((bucket.most - bucket.left) / bucket.fill) * bucket.interval
    redis.call('PEXPIRE', key, string.format('%.0f', math.max(1, full - now)))
  end
  if not least or bucket.left < least.left then least = bucket end
end
return { allowed, least.most, math.max(0, least.left), least.filledAt + least.interval - now, least.index }`,
);
