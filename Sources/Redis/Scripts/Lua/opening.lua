-- Streams that begin, for `open`, `attach` and `purge`.

-- Begins a stream behind the newest one (nil for none), and announces it as `0 ! - TIME ID REASON`. It is kept for a day, and
-- renewed by `trim` from then on. Returns its ID.
--
-- With a former position, the stream goes on where that one has ended: an entry `! - TIME POSITION` at its place 0 says so, in
-- order with the messages of both.
local function beginStream(keys, time, newestStream, reason, former)
    local forgotten = tonumber(redis.call('HGET', keys.kept, ':')) or 0
    local id = math.max(time, since(keys.epoch) + 1, (newestStream or 0) + 1, forgotten + 1)
    -- The place before the first message, in an empty stream or behind sealed ones.
    if former then
        redis.call('XADD', keys.messages, digits(id) .. '-0', 'd',
            '! - ' .. digits(time) .. ' ' .. former)
    elseif newestStream then
        redis.call('XSETID', keys.messages, digits(id) .. '-0')
    else
        redis.call('XADD', keys.messages, 'MAXLEN', 0, digits(id) .. '-0', 'd', '')
    end
    local channel = string.match(keys.messages, '}:h:(.*)$')
    redis.call('ZADD', keys.due, 'NX', digits(time + 60000), 't:' .. channel)
    redis.call(PUBLISH, keys.announcements,
        '0 ! - ' .. digits(time) .. ' ' .. digits(id) .. ' ' .. reason)
    return id
end

-- Whether no message may follow the newest one: behind the largest serial, or a damaged ID.
local function isFull(stream, serial) return stream > MAX or tonumber(serial) >= MAX end

-- Finds the current stream of a channel, or begins one. Returns its ID and the serial of its last message.
--
-- With a number of streams, a channel without subscriptions counts among those (see kept.lua); without one, it has some.
local function openStream(keys, time, positionsMax)
    local sealed = since(keys.epoch)
    local stream, serial = newest(keys.messages, sealed)
    if stream and stream > MAX then
        -- Damaged: no valid ID follows it.
        releaseAll(keys.kept, keys.messages)
        redis.call('DEL', keys.messages)
        stream, serial = beginStream(keys, time, nil, 'purge'), '0'
    elseif stream and stream > sealed and isFull(stream, serial) then
        stream, serial = beginStream(keys, time, stream, 'full', digits(stream) .. '-' .. serial), '0'
    elseif not stream or stream <= sealed then
        -- Its messages may have expired.
        if not stream then releaseAll(keys.kept, keys.messages) end
        local base = tonumber(redis.call('HGET', keys.epoch, 'base'))
        local former = stream and base and stream > base and digits(stream) .. '-' .. serial
        stream, serial = beginStream(keys, time, stream, stream and 'epoch' or 'first', former), '0'
        if positionsMax and not isOccupied(keys.messages) then
            vacate(keys.kept, keys.messages, time, positionsMax)
        end
    end
    redis.call('EXPIRE', keys.messages, 86400)
    return stream, serial
end
