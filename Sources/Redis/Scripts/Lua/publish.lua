-- Numbers, stores and announces messages.
--
-- Two scripts: `publish`, and with OPENS `open`, which publishes on the current streams of the channels, whichever the
-- caller knows, and begins those that are missing.
--
-- KEYS  for each partition: counter, epoch, due, webhooks, kept; then for each of its messages: stream, announcements; with `i`:
--       idempotency; with `k`: cached events of the app, their expiries, miss
-- ARGV  for each partition: the number of its messages; then for each of them: flags, stream ID, most messages to keep,
--       budgets, entry; with `i`: digest, age in seconds, most keys; with `k`: channel, lifetime in seconds, most cached events; with `w`:
--       APP:CHANNEL, body of the webhook; with `c`: position
--
-- Flags: `i` the message has an idempotency key, `k` it is kept as the channel's cached event, `w` it is a client event that a
-- webhook reports, `c` it is published only if that is the channel's last position.
-- Stream ID: the one that the caller knows; `-` for a recoverable channel of which it knows none; empty for a channel
-- that is not recoverable.
-- Budgets: `BYTES TOTAL POSITIONS`, of a pool (see kept.lua): the bytes of the app's messages and of all, 0 without a limit;
-- the streams of the app's channels without subscriptions.
-- Entry: `KIND EXCEPT TIME BODY`. Announced as `SERIAL ENTRY`, with serial 0 for a message without a position.
--
-- Returns for each message:
--   serial         it has this place in the caller's stream; 0: it has no position
--   STREAM-SERIAL  it has this position, in a stream that the caller did not name
--   {POSITION}     it was published before, with the same idempotency key; the position is `-` if it has none
--   {POSITION, 0}  it is not published: the channel's last position is this one; `-` without a stream
--   nil            the caller's stream has ended: repeat the message through `open`
--   error          it is not published; CONFLICT: the idempotency key belongs to another message
-- If something else had to go, then the numbers of messages removed for the budgets of apps and of all, of keys, of streams, and
-- of cached events.

local keys, arguments = 0, 0

-- The keys of the present partition, and up to which ID its streams are sealed; read once.
local counter, epoch, due, webhooks, kept, sealed

-- The idempotency keys that are forgotten before their time.
local forgotten = 0

-- The time in ms, which few messages need.
local time
local function clock()
    time = time or now()
    return time
end

-- Removes the newest entry as if its ID had never been given, so that the next message with it is refused too.
--
-- Redis 7.2 and Valkey never set the last ID of a stream below that of a removed entry: the others are written anew.
local function giveBack(messages, id)
    local entries = redis.call('XRANGE', messages, '-', '(' .. id)
    local lifetime = redis.call('PTTL', messages)
    redis.call('DEL', messages)
    for _, entry in ipairs(entries) do redis.call('XADD', messages, entry[1], unpack(entry[2])) end
    if #entries > 0 and lifetime > 0 then redis.call('PEXPIRE', messages, digits(lifetime)) end
end

-- Appends an entry to a stream, and returns its ID; false if that is not the channel's current stream.
local function append(messages, stream, entry)
    local id = redis.pcall('XADD', messages, 'NOMKSTREAM', stream .. '-*', 'd', entry)
    if not id then return false end
    if id.err then
        -- A newer stream has begun.
        if string.find(id.err, 'equal or smaller', 1, true) then return false end
        return id
    end
    -- The stream is older than the caller's, which was lost, or full.
    if string.sub(id, -2) == '-0' or #id > #stream + 16 and tonumber(string.sub(id, #stream + 2)) > MAX then
        giveBack(messages, id)
        return false
    end
    return id
end

-- The cached events that are removed before their time.
local dropped = 0

-- Keeps an event as the last of its channel. Beyond the limit, those of the app that expire first are removed.
local function cache(events, expiries, miss, announcement, name, lifetime, countMax)
    redis.call('HSET', events, name, announcement)
    redis.call('ZADD', expiries, digits(clock() + lifetime * 1000), name)
    redis.call('DEL', miss)
    redis.call('EXPIRE', events, lifetime)
    redis.call('EXPIRE', expiries, lifetime)
    while redis.call('ZCARD', expiries) > countMax do
        redis.call('HDEL', events, redis.call('ZPOPMIN', expiries)[1])
        dropped = dropped + 1
    end
end

-- Publishes the next message.
local function publish()
    local messages, announcements = KEYS[keys + 1], KEYS[keys + 2]
    local flags, stream, lengthMax, budgets, entry = unpack(ARGV, arguments + 1, arguments + 5)
    keys, arguments = keys + 2, arguments + 5
    local idempotency, digest, age, keysMax, cachedAt, cachedAs
    if string.find(flags, 'i', 1, true) then
        idempotency, digest, age, keysMax = KEYS[keys + 1], unpack(ARGV, arguments + 1, arguments + 3)
        keys, arguments = keys + 1, arguments + 3
    end
    if string.find(flags, 'k', 1, true) then
        cachedAt, cachedAs = keys, arguments
        keys, arguments = keys + 3, arguments + 3
    end
    local channel, body
    if string.find(flags, 'w', 1, true) then
        channel, body = ARGV[arguments + 1], ARGV[arguments + 2]
        arguments = arguments + 2
    end
    local expected
    if string.find(flags, 'c', 1, true) then
        expected, arguments = ARGV[arguments + 1], arguments + 1
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
        stream, isNamed = digits((openStream({
            epoch = epoch, messages = messages, announcements = announcements, due = due, kept = kept,
        }, clock(), tonumber(string.match(budgets, '%d+$'))))), false
    elseif stream == '-' then
        sealed = sealed or since(epoch)
        local current = newest(messages, sealed)
        if not current then
            stream = ''
        else
            if current <= sealed or current > MAX then return false end
            stream, isNamed = digits(current), false
        end
    elseif stream ~= '' then
        sealed = sealed or since(epoch)
        if tonumber(stream) <= sealed then return false end
    end

    if expected then
        local current, last = newest(messages, sealed or since(epoch))
        local present = current and digits(current) .. '-' .. last or '-'
        if present ~= expected then return { present, 0 } end
    end

    local position, serial = '-', '0'
    if stream == '' then
        redis.call('INCR', counter)
    else
        local id = append(messages, stream, entry)
        if not id or type(id) == 'table' then return id end
        position, serial = id, string.sub(id, #stream + 2)
        retain(kept, messages, entry, clock, budgets)
        shorten(kept, messages, tonumber(serial), tonumber(lengthMax))
    end
    local announcement = serial .. ' ' .. entry
    if cachedAt then
        cache(KEYS[cachedAt + 1], KEYS[cachedAt + 2], KEYS[cachedAt + 3], announcement,
            ARGV[cachedAs + 1], tonumber(ARGV[cachedAs + 2]), tonumber(ARGV[cachedAs + 3]))
    end
    if idempotency then
        forgotten = forgotten + remember(kept .. ':k:' .. appOf(messages), idempotency,
            position .. ' ' .. digest, age, clock(), tonumber(keysMax))
    end
    redis.call(PUBLISH, announcements, announcement)
    if channel then record(epoch, webhooks, 'client', clock(), channel, body) end
    return isNamed and tonumber(serial) or position
end

local outcomes = {}
while arguments < #ARGV do
    counter, epoch, due, webhooks, kept = unpack(KEYS, keys + 1, keys + 5)
    sealed = nil
    local count = tonumber(ARGV[arguments + 1])
    keys, arguments = keys + 5, arguments + 1
    for _ = 1, count do outcomes[#outcomes + 1] = publish() end
end
local ofApps, ofAll = settleBudgets()
if ofApps + ofAll + forgotten + forgottenStreams + dropped > 0 then
    outcomes[#outcomes + 1] = { ofApps, ofAll, forgotten, forgottenStreams, dropped }
end
return outcomes
