-- What several scripts need; each script begins with this file.
--
-- A stream's ID is the time of its creation in milliseconds, and greater than the epoch's `since`. Its entries have the
-- Redis IDs STREAM-SERIAL, with serials from 1 on. Streams up to `since` are sealed: nothing is appended to them.

local DAY = 86400

-- The time in milliseconds.
local function now()
    local time = redis.call('TIME')
    return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- A number in decimal digits; `..` would write a time in scientific notation.
local function digits(number) return string.format('%.0f', number) end

local function isRegistered(items) return redis.call('SISMEMBER', items, '.') == 1 end

local function fenced(node)
    return redis.error_reply('FENCED node ' .. node .. ' is not registered')
end

-- The sum of a hash's values.
local function sum(hash)
    local total = 0
    for _, value in ipairs(redis.call('HVALS', hash)) do total = total + tonumber(value) end
    return total
end

-- The newest ID ever of a channel's messages: the stream, as a number, and the serial. Nil without a stream.
local function newest(messages)
    if redis.call('EXISTS', messages) == 0 then return nil end
    local info = redis.call('XINFO', 'STREAM', messages)
    for index = 1, #info, 2 do
        if info[index] == 'last-generated-id' then
            local stream, serial = string.match(info[index + 1], '^(%d+)-(%d+)$')
            return tonumber(stream), serial
        end
    end
end

-- The epoch's `since`; false before the first registration.
local function since(epoch) return tonumber(redis.call('HGET', epoch, 'since')) end

-- Finds the current stream of a channel, or begins one and announces it; the stream is kept for a day from now on.
-- Returns its ID and the serial of its last message.
local function openStream(epoch, messages, announcements)
    local stream, serial = newest(messages)
    local start = since(epoch) or 0
    if not stream or stream <= start then
        local time = now()
        local id = math.max(time, start + 1, (stream or 0) + 1)
        -- The place before the first message, in an empty stream or behind sealed ones.
        if stream then
            redis.call('XSETID', messages, digits(id) .. '-0')
        else
            redis.call('XADD', messages, 'MAXLEN', 0, digits(id) .. '-0', 'd', '')
        end
        redis.call(PUBLISH, announcements, '0 ! - ' .. digits(time) .. ' ' .. digits(id))
        stream, serial = id, '0'
    end
    redis.call('EXPIRE', messages, DAY)
    return stream, serial
end
