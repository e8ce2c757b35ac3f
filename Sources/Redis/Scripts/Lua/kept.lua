-- What a store keeps of the apps' channels, counted, for all scripts that add to it or take from it.
--
-- `kept` is a key of a pool: of all partitions of a store, in a Redis Cluster of one partition. It is a hash: the bytes of
-- messages by stream (by its key), by app (its ID), and of all (the empty field); `:` is the newest stream ID that was
-- forgotten. Beside it are sorted sets of streams: `kept:o` and `kept:o:APP` of those with messages, by a time that is not
-- after their oldest message; `kept:v:APP` of the channels without subscriptions, by the time since when.

local function appOf(messages) return string.match(messages, '}:h:([^:]*):') end

-- What a message counts beyond its text, in bytes.
local OVERHEAD = 32

-- The size of entries. One at place 0 is no message (see opening.lua).
local function size(entries)
    local bytes = 0
    for _, entry in ipairs(entries) do
        if string.sub(entry[1], -2) ~= '-0' then bytes = bytes + #entry[2][2] + OVERHEAD end
    end
    return bytes
end

-- Deducts bytes of messages that are removed from a stream. They may be 0, whose negation has a sign in Lua.
local function release(kept, messages, bytes)
    local app = appOf(messages)
    local left = redis.call('HINCRBY', kept, messages, digits(0 - bytes))
    if left <= 0 then
        -- Messages from before they were counted are not deducted.
        bytes = bytes + left
        redis.call('HDEL', kept, messages)
        redis.call('ZREM', kept .. ':o', messages)
        redis.call('ZREM', kept .. ':o:' .. app, messages)
    end
    redis.call('HINCRBY', kept, app, digits(0 - bytes))
    redis.call('HINCRBY', kept, '', digits(0 - bytes))
end

-- Deducts all messages of a stream.
local function releaseAll(kept, messages)
    local bytes = tonumber(redis.call('HGET', kept, messages))
    if bytes then release(kept, messages, bytes) end
end

-- Removes a stream, whose next one gets a greater ID.
local function forgetStream(kept, messages)
    releaseAll(kept, messages)
    redis.call('ZREM', kept .. ':v:' .. appOf(messages), messages)
    local stream = newest(messages, math.huge)
    if not stream then return end
    if stream > (tonumber(redis.call('HGET', kept, ':')) or 0) then
        redis.call('HSET', kept, ':', digits(stream))
    end
    redis.call('DEL', messages)
end

-- Whether the channel of a stream has subscriptions.
local function isOccupied(messages)
    return redis.call('EXISTS', (string.gsub(messages, '}:h:', '}:n:', 1))) == 1
end

-- Counts a stream, if there is one, among those of channels without subscriptions. Beyond the limit, those that have had none
-- for longest are forgotten.
local function vacate(kept, messages, time, countMax)
    if redis.call('EXISTS', messages) == 0 then return end
    local vacant = kept .. ':v:' .. appOf(messages)
    redis.call('ZADD', vacant, digits(time), messages)
    -- More than one after the limit was lowered.
    for _ = 1, math.min(redis.call('ZCARD', vacant) - countMax, 64) do
        local oldest = redis.call('ZPOPMIN', vacant)[1]
        if not isOccupied(oldest) then forgetStream(kept, oldest) end
    end
end
