-- What a store keeps of the apps' channels, counted, for all scripts that add to it or take from it.
--
-- `kept` is a key of a pool: of all partitions of a store, in a Redis Cluster of one partition. It is a hash: the bytes of
-- messages by stream (by its key), by app (its ID), and of all (the empty field), the latter two as sums of what streams
-- count; `:` is the newest stream ID that was forgotten. Beside it are sorted sets of streams: `kept:o` and `kept:o:APP` of those
-- with messages, by a time that is not after their oldest message; `kept:v:APP` of the channels without subscriptions, by the
-- time since when.
--
-- `kept:b` is a hash of marks, by stream: pairs `MESSAGES BYTES `, counted since the first message. The first pair is what was
-- removed, the others are up to some messages, oldest first. So the size of what is removed up to a mark is known
-- without reading it.

-- The size of entries. One at place 0 is no message (see opening.lua).
local function size(entries)
    local bytes = 0
    for _, entry in ipairs(entries) do
        if string.sub(entry[1], -2) ~= '-0' then bytes = bytes + #entry[2][2] + OVERHEAD end
    end
    return bytes
end

-- Deducts bytes of messages that are removed from a stream. They may be 0, whose negation has a sign in Lua. Returns the change
-- of what the stream counts for its app and for all.
local function deduct(kept, messages, bytes)
    local left = redis.call('HINCRBY', kept, messages, digits(0 - bytes))
    if left <= 0 then
        redis.call('HDEL', kept, messages)
        redis.call('HDEL', kept .. ':b', messages)
        redis.call('ZREM', kept .. ':o', messages)
        redis.call('ZREM', kept .. ':o:' .. appOf(messages), messages)
    end
    -- Messages from before they were counted are not deducted.
    return counted(math.max(left, 0)) - counted(left + bytes)
end

-- Deducts the oldest messages of a stream, which are removed: their number, and their bytes.
local function release(kept, messages, count, bytes)
    local change = deduct(kept, messages, bytes)
    if change ~= 0 then
        redis.call('HINCRBY', kept, appOf(messages), digits(change))
        redis.call('HINCRBY', kept, '', digits(change))
    end
    local marks = redis.call('HGET', kept .. ':b', messages)
    if not marks then return end
    local removed, ofBytes, rest = string.match(marks, '^(%d+) (%d+) (.*)$')
    removed = removed + count
    while true do
        local place, later = string.match(rest, '^(%d+) %d+ (.*)$')
        if not place or tonumber(place) > removed then break end
        rest = later
    end
    redis.call('HSET', kept .. ':b', messages,
        digits(removed) .. ' ' .. digits(ofBytes + bytes) .. ' ' .. rest)
end

-- Deducts all messages of a stream.
local function releaseAll(kept, messages)
    local bytes = tonumber(redis.call('HGET', kept, messages))
    if bytes then release(kept, messages, 0, bytes) end
end
