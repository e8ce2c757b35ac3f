-- Sets the numbers of a node's subscriptions to channels of a partition, and reads what subscriptions begin with.
--
-- KEYS  epoch, the node's items, due, webhooks, counter, kept; then for each channel: subscriptions, occupied channels; with `t`,
--       `r`, `n` or `s`: stream, announcements, notice; with `k`: cached events, their expiries, miss; with `p`: members' infos
-- ARGV  node; then for each channel: APP:CHANNEL, number of subscriptions (at least 1), flags
--
-- Flags: `t` a subscriber tracks its position, so the channel needs a stream; `r` the channel is recoverable; `k` it has
-- cached events; `p` it has members; `n` it announces the number of its subscriptions. Webhooks: `o` occupied and vacated,
-- `s` number of subscriptions, `x` cache misses.
--
-- Returns: for each channel { subscriptions on all nodes; whether the channel was vacant; the newest message's ID or nil; the
-- ID of the oldest message that is kept or nil; the cached event or nil; users and infos by turns }; counter. FENCED: the node is not registered.

local epoch, items, due, webhooks, counter, kept = unpack(KEYS, 1, 6)
local node = ARGV[1]

if not isRegistered(items) then return fenced(node) end
local time = now()

-- The last key that was read.
local place = 6
local function nextKeys(count)
    place = place + count
    return unpack(KEYS, place - count + 1, place)
end

local function attach(channel, count, flags)
    local function has(flag) return string.find(flags, flag, 1, true) ~= nil end
    local keys = { epoch = epoch, due = due, webhooks = webhooks, kept = kept }
    local subscriptions, occupied = nextKeys(2)
    if string.find(flags, '[trns]') then
        keys.messages, keys.announcements, keys.notice = nextKeys(3)
    end
    local name = string.match(channel, '^[^:]*:(.*)$')

    local former, wasVacant = redis.call('HGET', subscriptions, node), false
    -- Behind a loss of the connection, most numbers are those that Redis knows.
    if former ~= count then
        wasVacant = redis.call('HLEN', subscriptions) == 0
        redis.call('HSET', subscriptions, node, count)
        redis.call('SADD', items, 'c:' .. channel)
    end
    if wasVacant then
        redis.call('ZADD', occupied, 0, name)
        if has('t') or has('r') then
            redis.call('ZREM', kept .. ':v:' .. appOf(keys.messages), keys.messages)
        end
        if has('o') then arrive(epoch, webhooks, due, 'v:' .. channel, 'occupied', time, channel) end
    end
    local total = sum(subscriptions)
    if former ~= count then announceCount(keys, flags, channel, total, time) end

    local stream, serial, last, first = nil, nil, false, false
    if has('t') then
        stream, serial = openStream(keys, time)
    elseif has('r') then
        stream, serial = newest(keys.messages, since(epoch))
        if stream and isFull(stream, serial) then stream, serial = openStream(keys, time) end
    end
    if stream then
        last = digits(stream) .. '-' .. serial
        local kept = redis.call('XRANGE', keys.messages, '-', '+', 'COUNT', 1)
        if kept[1] then first = kept[1][1] end
    end

    local event = false
    if has('k') then
        local cached, expiries, missed = nextKeys(3)
        local expiry = redis.call('ZSCORE', expiries, name)
        event = expiry and tonumber(expiry) > time and redis.call('HGET', cached, name)
        if not event and has('x') then
            local miss = tonumber(redis.call('GET', missed))
            if not miss or time - miss >= 60000 then
                redis.call('SET', missed, digits(time), 'EX', 60)
                record(epoch, webhooks, 'miss', time, channel)
            end
        end
    end
    local infos = has('p') and redis.call('HGETALL', (nextKeys(1))) or {}
    return { total, wasVacant and 1 or 0, last, first, event, infos }
end

local attachments = {}
for index = 2, #ARGV, 3 do attachments[#attachments + 1] = attach(unpack(ARGV, index, index + 2)) end
return { attachments, tonumber(redis.call('GET', counter)) or 0 }
