-- What few messages need, for `publish` and `open`: a function `keeping` returns it, so that the other calls do not make it.
-- The budgets of what is kept, idempotency keys, cached events, and entries that are given back.

-- Begins to count a stream, with its first message.
local function begin(kept, messages, time)
    redis.call('ZADD', kept .. ':o', digits(time), messages)
    redis.call('ZADD', kept .. ':o:' .. appOf(messages), digits(time), messages)
end

-- Removes the oldest messages of a stream of `total` bytes beyond a number, up to a mark, and marks the newest message. Returns
-- the change of what the stream counts for its app and for all.
local function shorten(kept, messages, total, countMax)
    local marks = redis.call('HGET', kept .. ':b', messages) or '0 0 '
    local removed, bytes, rest = string.match(marks, '^(%d+) (%d+) (.*)$')
    local newest = removed + redis.call('XLEN', messages)
    local last, lastBytes = removed, bytes
    while true do
        local place, ofBytes, later = string.match(rest, '^(%d+) (%d+) (.*)$')
        if not place or newest - place < countMax then break end
        last, lastBytes, rest = place, ofBytes, later
    end
    redis.call('HSET', kept .. ':b', messages,
        last .. ' ' .. lastBytes .. ' ' .. rest .. digits(newest) .. ' ' .. digits(bytes + total) .. ' ')
    if last == removed then return 0 end
    redis.call('XTRIM', messages, 'MAXLEN', digits(newest - last))
    return deduct(kept, messages, math.max(lastBytes - bytes, 0))
end

-- The sums that are above their limits.
local ofApps, ofAll = {}, {}

-- Records which limits of an app and of all are exceeded, if they are.
local function exceed(kept, app, appMax, max)
    if appMax then ofApps[#ofApps + 1] = { kept, app, kept .. ':o:' .. app, appMax } end
    if max then ofAll[#ofAll + 1] = { kept, '', kept .. ':o', max } end
end

-- Removes the oldest messages, until a sum is not above its limit. Returns how many.
local function shrink(kept, field, oldest, max)
    local removed = 0
    -- Bounded for a limit that was lowered: the next calls continue.
    for _ = 1, 1024 do
        if tonumber(redis.call('HGET', kept, field)) <= max then break end
        local first = redis.call('ZRANGE', oldest, 0, 0, 'WITHSCORES')
        local messages = first[1]
        if not messages then break end
        local entry = redis.call('XRANGE', messages, '-', '+', 'COUNT', 1)[1]
        if not entry then
            releaseAll(kept, messages)
        else
            local time = string.match(entry[2][2], '^%S+ %S+ (%d+)')
            if tonumber(time or 0) > tonumber(first[2]) then
                redis.call('ZADD', kept .. ':o', time, messages)
                redis.call('ZADD', kept .. ':o:' .. appOf(messages), time, messages)
            else
                redis.call('XDEL', messages, entry[1])
                release(kept, messages, 1, size({ entry }))
                removed = removed + 1
            end
        end
    end
    return removed
end

-- Removes what is above the limits. Returns the numbers of messages removed for those of the apps and for that of all.
local function settle()
    local removedOfApps, removedOfAll = 0, 0
    for _, sum in ipairs(ofApps) do removedOfApps = removedOfApps + shrink(unpack(sum)) end
    for _, sum in ipairs(ofAll) do removedOfAll = removedOfAll + shrink(unpack(sum)) end
    return removedOfApps, removedOfAll
end

-- Remembers an idempotency key. Beyond the limit, the oldest keys of the app are forgotten. Returns how many.
local function remember(kept, messages, key, value, age, time, countMax)
    local remembered = kept .. ':k:' .. appOf(messages)
    redis.call('SET', key, value, 'EX', age)
    redis.call('ZREMRANGEBYSCORE', remembered, '-inf', digits(time - age * 1000))
    redis.call('ZADD', remembered, digits(time), key)
    redis.call('EXPIRE', remembered, age)
    local excess = math.min(redis.call('ZCARD', remembered) - countMax, 64)
    for _ = 1, excess do redis.call('DEL', redis.call('ZPOPMIN', remembered)[1]) end
    return math.max(excess, 0)
end

-- Keeps an event as the last of its channel. Beyond the limit, those of the app that expire first are removed. Returns how many.
local function cache(events, expiries, miss, announcement, name, lifetime, time, countMax)
    redis.call('HSET', events, name, announcement)
    redis.call('ZADD', expiries, digits(time + lifetime * 1000), name)
    redis.call('DEL', miss)
    redis.call('EXPIRE', events, lifetime)
    redis.call('EXPIRE', expiries, lifetime)
    local dropped = 0
    while redis.call('ZCARD', expiries) > countMax do
        redis.call('HDEL', events, redis.call('ZPOPMIN', expiries)[1])
        dropped = dropped + 1
    end
    return dropped
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

return {
    begin = begin, shorten = shorten, exceed = exceed, settle = settle, remember = remember, cache = cache, record = record,
    giveBack = giveBack,
}
