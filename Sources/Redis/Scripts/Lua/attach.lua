-- Sets the number of a node's subscriptions to a channel, and reads what a subscription begins with.
--
-- KEYS  epoch, the node's items, subscriptions, occupied channels, stream, announcements, cached events, their expiries,
--       members' infos, due, webhooks, notice, miss
-- ARGV  node, APP:CHANNEL, number of subscriptions (at least 1), flags
--
-- Flags: `t` a subscriber tracks its position, so the channel needs a stream; `r` the channel is recoverable; `k` it has
-- cached events; `p` it has members; `n` it announces the number of its subscriptions. Webhooks: `o` occupied and vacated,
-- `s` number of subscriptions, `x` cache misses.
--
-- Returns: subscriptions on all nodes; whether the channel was vacant; the newest message's ID or nil; the ID of the
-- oldest message that is kept or nil; the cached event or nil; users and infos by turns. FENCED: the node is not registered.

local keys = {
    epoch = KEYS[1], items = KEYS[2], subscriptions = KEYS[3], occupied = KEYS[4], messages = KEYS[5],
    announcements = KEYS[6], cached = KEYS[7], expiries = KEYS[8], infos = KEYS[9], due = KEYS[10],
    webhooks = KEYS[11], notice = KEYS[12], miss = KEYS[13],
}
local node, channel, count, flags = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if not isRegistered(keys.items) then return fenced(node) end
local function has(flag) return string.find(flags, flag, 1, true) ~= nil end
local time, name = now(), string.match(channel, '^[^:]*:(.*)$')

local wasVacant = redis.call('HLEN', keys.subscriptions) == 0
local former = redis.call('HGET', keys.subscriptions, node)
redis.call('HSET', keys.subscriptions, node, count)
redis.call('SADD', keys.items, 'c:' .. channel)
if wasVacant then
    redis.call('ZADD', keys.occupied, 0, name)
    if has('o') then
        arrive(keys.epoch, keys.webhooks, keys.due, 'v:' .. channel, 'occupied', time, channel)
    end
end
local total = sum(keys.subscriptions)
if former ~= count then announceCount(keys, flags, channel, total, time) end

local stream, serial, last, first = nil, nil, false, false
if has('t') then
    stream, serial = openStream(keys, time)
elseif has('r') then
    stream, serial = newest(keys.messages, since(keys.epoch))
end
if stream then
    last = digits(stream) .. '-' .. serial
    local kept = redis.call('XRANGE', keys.messages, '-', '+', 'COUNT', 1)
    if kept[1] then first = kept[1][1] end
end

local event = false
if has('k') then
    local expiry = redis.call('ZSCORE', keys.expiries, name)
    event = expiry and tonumber(expiry) > time and redis.call('HGET', keys.cached, name)
    if not event and has('x') then
        local miss = tonumber(redis.call('GET', keys.miss))
        if not miss or time - miss >= 60000 then
            redis.call('SET', keys.miss, digits(time), 'EX', 60)
            record(keys.epoch, keys.webhooks, 'miss', time, channel)
        end
    end
end
return {
    total, wasVacant and 1 or 0, last, first, event,
    has('p') and redis.call('HGETALL', keys.infos) or {},
}
