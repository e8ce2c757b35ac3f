-- The removal of what is beyond the budgets, for `publish` and `open`.

-- Removes the oldest messages of a stream beyond a number. That is looked at once in as many messages as an eighth of the
-- number, 64 at most; so many more may stay.
local function shorten(kept, messages, serial, countMax)
    if serial % math.max(1, math.min(math.floor(countMax / 8), 64)) ~= 0 then return end
    local count = redis.call('XLEN', messages)
    if count <= countMax then return end
    local oldest = redis.call('XRANGE', messages, '-', '+', 'COUNT', math.min(count - countMax, 512))
    redis.call('XTRIM', messages, 'MAXLEN', count - #oldest)
    release(kept, messages, size(oldest))
end

-- What this call has added to the counts of apps, and the last budgets, by pool.
local appended = {}

-- Counts a message that was appended.
local function retain(kept, messages, entry, clock, budgets)
    local bytes = #entry + OVERHEAD
    local total = redis.call('HINCRBY', kept, messages, bytes)
    local change = counted(total) - counted(total - bytes)
    if change == 0 then return end
    local app = appOf(messages)
    if total == bytes then
        redis.call('ZADD', kept .. ':o', digits(clock()), messages)
        redis.call('ZADD', kept .. ':o:' .. app, digits(clock()), messages)
    end
    local pool = appended[kept]
    if not pool then
        pool = { bytes = 0, apps = {}, budgets = {} }
        appended[kept] = pool
    end
    pool.bytes, pool.last = pool.bytes + change, budgets
    pool.apps[app], pool.budgets[app] = (pool.apps[app] or 0) + change, budgets
end

-- Counts what this call has appended, and keeps the budgets. Returns the numbers of messages removed for those of the apps
-- and for that of all. Functions within it are not made by the calls that have appended nothing that counts.
local function settleBudgets()
    if not next(appended) then return 0, 0 end

    -- Removes the oldest messages, until a field of `kept` is not above its limit. Returns how many.
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
                    release(kept, messages, size({ entry }))
                    removed = removed + 1
                end
            end
        end
        return removed
    end

    local ofApps, ofAll = 0, 0
    for kept, pool in pairs(appended) do
        local totals = {}
        for app, bytes in pairs(pool.apps) do
            totals[app] = redis.call('HINCRBY', kept, app, bytes)
        end
        local all = redis.call('HINCRBY', kept, '', pool.bytes)
        for app, total in pairs(totals) do
            local max = tonumber(string.match(pool.budgets[app], '^%d+'))
            if max > 0 and total > max then
                ofApps = ofApps + shrink(kept, app, kept .. ':o:' .. app, max)
            end
        end
        local max = tonumber(string.match(pool.last, '^%d+ (%d+)'))
        if max > 0 and all > max then
            ofAll = ofAll + shrink(kept, '', kept .. ':o', max)
        end
    end
    return ofApps, ofAll
end

-- Remembers an idempotency key. Beyond the limit, the oldest keys of the app are forgotten. Returns how many.
local function remember(remembered, key, value, age, time, countMax)
    redis.call('SET', key, value, 'EX', age)
    redis.call('ZREMRANGEBYSCORE', remembered, '-inf', digits(time - age * 1000))
    redis.call('ZADD', remembered, digits(time), key)
    redis.call('EXPIRE', remembered, age)
    local excess = math.min(redis.call('ZCARD', remembered) - countMax, 64)
    for _ = 1, excess do redis.call('DEL', redis.call('ZPOPMIN', remembered)[1]) end
    return math.max(excess, 0)
end
