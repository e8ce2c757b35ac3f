-- Removes the messages of a stream that are too old, and renews the stream, if that is due.
--
-- KEYS  stream, subscriptions, due
-- ARGV  APP:CHANNEL, the age of messages to remove in ms, the time until the next call in ms
--
-- A stream is kept for a day after the last call that found messages or subscriptions, so a busy one does not end.
--
-- Returns: messages that are removed (at most 64, then it is due again at once), or nil if nothing was due.

local messages, subscriptions, due = KEYS[1], KEYS[2], KEYS[3]
local channel, age, interval = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local time = now()
local item = 't:' .. channel
if not takeDue(due, item, time) then return false end
if redis.call('EXISTS', messages) == 0 then return 0 end
local entries = redis.call('XRANGE', messages, '-', '+', 'COUNT', 64)
local removed = 0
for _, entry in ipairs(entries) do
    if tonumber(string.match(entry[2][2], '^%S+ %S+ (%d+)') or 0) >= time - age then break end
    removed = removed + redis.call('XDEL', messages, entry[1])
end
if #entries > 0 or redis.call('EXISTS', subscriptions) == 1 then
    redis.call('EXPIRE', messages, 86400)
end
redis.call('ZADD', due, digits(removed == 64 and time or time + interval), item)
return removed
