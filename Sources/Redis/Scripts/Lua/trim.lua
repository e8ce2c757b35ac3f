-- Removes the messages of a stream that are too old, and renews the stream, if that is due.
--
-- KEYS  stream, subscriptions, due, kept
-- ARGV  APP:CHANNEL, the age of messages to remove in ms, the time until the next call in ms, most streams of the app's channels
--       without subscriptions
--
-- A stream is kept for a day after the last call that found messages or subscriptions, so a busy one does not end. Without
-- subscriptions, one in which nothing was ever published is kept as long as a message.
--
-- Returns: messages that are removed (at most 64, then it is due again at once), or nil if nothing was due.

local messages, subscriptions, due, kept = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local channel, age, interval = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local time = now()
local item = 't:' .. channel
if not takeDue(due, item, time) then return false end
if redis.call('EXISTS', messages) == 0 then
    forgetStream(kept, messages)
    return 0
end
local entries = redis.call('XRANGE', messages, '-', '+', 'COUNT', 64)
local removed, bytes = 0, 0
for _, entry in ipairs(entries) do
    if tonumber(string.match(entry[2][2], '^%S+ %S+ (%d+)') or 0) >= time - age then break end
    removed = removed + redis.call('XDEL', messages, entry[1])
    bytes = bytes + size({ entry })
end
if removed > 0 then release(kept, messages, removed, bytes) end
local isVacant = redis.call('EXISTS', subscriptions) == 0
if isVacant then
    local vacantSince = redis.call('ZSCORE', kept .. ':v:' .. appOf(messages), messages)
    if not vacantSince then
        vacate(kept, messages, time, tonumber(ARGV[4]))
    elseif tonumber(vacantSince) <= time - age then
        local _, serial = newest(messages, math.huge)
        if serial == '0' and removed == #entries and removed < 64 then
            forgetStream(kept, messages)
            return removed
        end
    end
    -- The share of a partition of a Redis Cluster may be smaller than it was.
    forgetVacant(kept, appOf(messages), tonumber(ARGV[4]))
    if redis.call('EXISTS', messages) == 0 then return removed end
end
if #entries > 0 or not isVacant then
    redis.call('EXPIRE', messages, 86400)
end
redis.call('ZADD', due, digits(removed == 64 and time or time + interval), item)
return removed
