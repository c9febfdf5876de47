import { script, storeTime } from '../../store/index.ts';

/**
 * The events of one session in the store:
 *
 * - a hash: `bytes` (the length of all events), for each stream its number with the process that writes it and its
 *   sealed requests, and `NUMBER:done` with the number of its last event;
 * - a list of the numbers of its streams, oldest first;
 * - a list of its events, oldest first, each as `STREAM-EVENT SEALED`.
 */

/**
 * Adds entries. KEYS: hash, streams, events, sessions of the principal, life sign of the writer. ARGV: lifetime (ms),
 * most events, most bytes, most streams, most sessions of the principal, writer, lifetime of the life sign (ms), name of
 * the session, then entries of three: `open`, stream, requests; `event`, `STREAM-EVENT`, sealed; `done`, stream, last
 * event. The oldest events go first, and the session of the principal that was written longest ago.
 */
export const writeEventsScript = script(
  'events',
  `for i = 9, #ARGV, 3 do
  local kind, id, text = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if kind == 'open' then
    redis.call('HSET', KEYS[1], id, ARGV[6] .. ' ' .. text)
    redis.call('RPUSH', KEYS[2], id)
    if redis.call('LLEN', KEYS[2]) > tonumber(ARGV[4]) then
      local gone = redis.call('LPOP', KEYS[2])
      redis.call('HDEL', KEYS[1], gone, gone .. ':done')
    end
  elseif kind == 'event' then
    local event = id .. ' ' .. text
    redis.call('RPUSH', KEYS[3], event)
    local bytes = redis.call('HINCRBY', KEYS[1], 'bytes', #event)
    while bytes > tonumber(ARGV[3]) or redis.call('LLEN', KEYS[3]) > tonumber(ARGV[2]) do
      local gone = redis.call('LPOP', KEYS[3])
      if not gone then redis.call('HSET', KEYS[1], 'bytes', 0) break end
      bytes = redis.call('HINCRBY', KEYS[1], 'bytes', -#gone)
    end
  else
    redis.call('HSET', KEYS[1], id .. ':done', text)
  end
end
for i = 1, 3 do redis.call('PEXPIRE', KEYS[i], ARGV[1]) end
redis.call('SET', KEYS[5], '1', 'PX', ARGV[7])
${storeTime}redis.call('ZADD', KEYS[4], now, ARGV[8])
redis.call('PEXPIRE', KEYS[4], ARGV[1])
if redis.call('ZCARD', KEYS[4]) > tonumber(ARGV[5]) then
  local gone = redis.call('ZPOPMIN', KEYS[4])[1]
  for i = 1, 3 do
    redis.call('DEL', string.sub(KEYS[i], 1, -#ARGV[8] - 1) .. gone)
  end
end
return 'ok'`,
);

/**
 * Reads one stream. KEYS: hash, events, the beginning of all life signs. ARGV: stream, the event after which to read.
 * Answers the writer, its sealed requests, whether it lives (1 or 0), the last event (or an empty text while there may be
 * more), then the events as `NUMBER SEALED`. Empty: the stream is not known.
 */
export const readEventsScript = script(
  'events',
  `local head = redis.call('HGET', KEYS[1], ARGV[1])
if not head then return {} end
local space = string.find(head, ' ', 1, true)
local writer = string.sub(head, 1, space - 1)
local found = { writer, string.sub(head, space + 1), redis.call('EXISTS', KEYS[3] .. writer),
  redis.call('HGET', KEYS[1], ARGV[1] .. ':done') or '' }
local start = ARGV[1] .. '-'
for _, event in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
  if string.sub(event, 1, #start) == start then
    local rest = string.sub(event, #start + 1)
    if tonumber(string.match(rest, '^%d+')) > tonumber(ARGV[2]) then table.insert(found, rest) end
  end
end
return found`,
);

/** Says that a process lives. KEYS: its life sign. ARGV: lifetime of the sign (ms); 0: the process ends. */
export const lifeSignScript = script(
  'events',
  `if ARGV[1] == '0' then return redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
return 'ok'`,
);
