-- Removes the messages and the cached event of a channel, whose stream ends.
--
-- KEYS  epoch, stream, announcements, due, cached events, their expiries, kept
-- ARGV  APP:CHANNEL, whether to begin a stream if there is none, most streams of the app's channels without subscriptions
--
-- The next stream begins at once, so that a publisher that knows the old one is refused.
--
-- Returns the position at which the next stream begins, or nil if there was none.

local keys = {
    epoch = KEYS[1], messages = KEYS[2], announcements = KEYS[3], due = KEYS[4], kept = KEYS[7],
}
local channel, begins = ARGV[1], ARGV[2] == '1'

local name = string.match(channel, '^[^:]*:(.*)$')
redis.call('HDEL', KEYS[5], name)
redis.call('ZREM', KEYS[6], name)
local stream = newest(keys.messages, since(keys.epoch))
if not stream and not begins then return false end
if stream then
    redis.call('XTRIM', keys.messages, 'MAXLEN', 0)
    releaseAll(keys.kept, keys.messages)
end
if stream and stream > MAX then
    -- Damaged: no valid ID follows it.
    redis.call('DEL', keys.messages)
    stream = nil
end
local time = now()
local id = beginStream(keys, time, stream, 'purge')
if not stream and not isOccupied(keys.messages) then
    vacate(keys.kept, keys.messages, time, tonumber(ARGV[3]))
end
redis.call('EXPIRE', keys.messages, 86400)
return digits(id) .. '-0'
