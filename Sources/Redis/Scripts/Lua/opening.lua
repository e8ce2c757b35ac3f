-- Streams that begin, for `open` and `attach`.

-- Finds the current stream of a channel, or begins one and announces it; the stream is kept for a day from now on.
-- Returns its ID and the serial of its last message.
local function openStream(epoch, messages, announcements)
    local stream, serial = newest(messages)
    local start = since(epoch)
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
    redis.call('EXPIRE', messages, 86400)
    return stream, serial
end
