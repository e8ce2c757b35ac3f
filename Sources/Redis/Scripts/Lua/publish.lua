-- Numbers, stores and announces messages.
--
-- Two scripts: `publish`, and with OPENS `open`, which publishes on the current streams of the channels, whichever the
-- caller knows, and begins those that are missing.
--
-- KEYS  counter, epoch; then for each message: stream, announcements; with `i`: idempotency; with `k`: cached event
-- ARGV  for each message: flags, stream ID, most messages to keep, entry; with `i`: digest, age in seconds; with `k`:
--       lifetime in seconds
--
-- Flags: `i` the message has an idempotency key, `k` it is kept as the channel's cached event.
-- Stream ID: the one that the caller knows; `-` for a recoverable channel of which it knows none; empty for a channel
-- that is not recoverable.
-- Entry: `KIND EXCEPT TIME BODY`. Announced as `SERIAL ENTRY`, with serial 0 for a message without a position.
--
-- Returns for each message:
--   serial         it has this place in the caller's stream; 0: it has no position
--   STREAM-SERIAL  it has this position, in a stream that the caller did not name
--   {POSITION}     it was published before, with the same idempotency key; the position is `-` if it has none
--   nil            the caller's stream has ended: repeat the message through `open`
--   error          it is not published; CONFLICT: the idempotency key belongs to another message

local counter, epoch = KEYS[1], KEYS[2]
local keys, arguments = 2, 0

-- Appends an entry to a stream, and returns its ID; false if that is not the channel's current stream.
local function append(messages, stream, lengthMax, entry)
    local id = redis.pcall(
        'XADD', messages, 'NOMKSTREAM', 'MAXLEN', '~', lengthMax, stream .. '-*', 'd', entry
    )
    if not id then return false end
    if id.err then
        -- A newer stream has begun.
        if string.find(id.err, 'equal or smaller', 1, true) then return false end
        return id
    end
    if string.sub(id, -2) == '-0' then
        -- The stream is older than the caller's, whose end was lost.
        redis.call('XDEL', messages, id)
        return false
    end
    return id
end

-- Publishes the next message.
local function publish()
    local messages, announcements = KEYS[keys + 1], KEYS[keys + 2]
    local flags, stream, lengthMax, entry = unpack(ARGV, arguments + 1, arguments + 4)
    keys, arguments = keys + 2, arguments + 4
    local idempotency, digest, age, cached, lifetime
    if string.find(flags, 'i', 1, true) then
        idempotency, digest, age = KEYS[keys + 1], ARGV[arguments + 1], ARGV[arguments + 2]
        keys, arguments = keys + 1, arguments + 2
    end
    if string.find(flags, 'k', 1, true) then
        cached, lifetime = KEYS[keys + 1], ARGV[arguments + 1]
        keys, arguments = keys + 1, arguments + 1
    end

    if idempotency then
        local earlier = redis.call('GET', idempotency)
        if earlier then
            local position, known = string.match(earlier, '^(%S+) (.*)$')
            if known == digest then return { position } end
            return redis.error_reply('CONFLICT the idempotency key belongs to another message')
        end
    end

    local isNamed = true
    if OPENS then
        stream, isNamed = digits(openStream(epoch, messages, announcements)), false
    elseif stream == '-' then
        local current = newest(messages)
        if not current then
            stream = ''
        elseif current > since(epoch) then
            stream, isNamed = digits(current), false
        else
            return false
        end
    end

    local position, serial = '-', '0'
    if stream == '' then
        redis.call('INCR', counter)
    else
        local id = append(messages, stream, lengthMax, entry)
        if not id or type(id) == 'table' then return id end
        position, serial = id, string.sub(id, #stream + 2)
    end
    local announcement = serial .. ' ' .. entry
    if cached then redis.call('SET', cached, announcement, 'EX', lifetime) end
    if idempotency then redis.call('SET', idempotency, position .. ' ' .. digest, 'EX', age) end
    redis.call(PUBLISH, announcements, announcement)
    return isNamed and tonumber(serial) or position
end

local outcomes = {}
while arguments < #ARGV do outcomes[#outcomes + 1] = publish() end
return outcomes
