-- What a store keeps of the apps' channels, counted, for all scripts that add to it or take from it.
--
-- `kept` is a key of a pool: of all partitions of a store, in a Redis Cluster of one partition. It is a hash: the bytes of
-- messages by stream (by its key), by app (its ID), and of all (the empty field), the latter two as sums of what streams
-- count; `:` is the newest stream ID that was forgotten. Beside it are sorted sets of streams: `kept:o` and `kept:o:APP` of those with messages, by a time that is not
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

-- What the bytes of a stream count for its app and for all: from 16 KiB on, steps of 2 KiB, so that few messages change it.
local function counted(bytes)
    return bytes < 16384 and bytes or math.ceil(bytes / 2048) * 2048
end

-- Adds to what an app and all keep.
local function addUse(kept, app, change)
    if change == 0 then return end
    redis.call('HINCRBY', kept, app, digits(change))
    redis.call('HINCRBY', kept, '', digits(change))
end

-- Deducts bytes of messages that are removed from a stream. They may be 0, whose negation has a sign in Lua.
local function release(kept, messages, bytes)
    local app = appOf(messages)
    local left = redis.call('HINCRBY', kept, messages, digits(0 - bytes))
    if left <= 0 then
        redis.call('HDEL', kept, messages)
        redis.call('ZREM', kept .. ':o', messages)
        redis.call('ZREM', kept .. ':o:' .. app, messages)
    end
    -- Messages from before they were counted are not deducted.
    addUse(kept, app, counted(math.max(left, 0)) - counted(left + bytes))
end

-- Deducts all messages of a stream.
local function releaseAll(kept, messages)
    local bytes = tonumber(redis.call('HGET', kept, messages))
    if bytes then release(kept, messages, bytes) end
end

-- The streams that this call has forgotten for the limit of channels without subscriptions.
local forgottenStreams = 0
