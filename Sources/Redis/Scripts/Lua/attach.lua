-- Sets the number of a node's subscriptions to a channel, and reads what a subscription begins with.
--
-- KEYS  epoch, the node's items, subscriptions, occupied channels, stream, announcements, cached event, members' infos
-- ARGV  node, the channel in items, the channel in the list of occupied ones, number of subscriptions (at least 1), flags
--
-- Flags: `t` a subscriber tracks its position, so the channel needs a stream; `r` the channel is recoverable; `k` it has
-- cached events; `p` it has members.
--
-- Returns: subscriptions on all nodes; whether the channel was vacant; the newest message's ID or nil; the ID of the
-- oldest message that is kept or nil; the cached event or nil; users and infos by turns. FENCED: the node is not registered.

local epoch, items, subscriptions, occupied = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local messages, announcements, cached, infos = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local node, item, name, count, flags = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

if not isRegistered(items) then return fenced(node) end
local function has(flag) return string.find(flags, flag, 1, true) ~= nil end

local wasVacant = redis.call('HLEN', subscriptions) == 0
redis.call('HSET', subscriptions, node, count)
redis.call('SADD', items, item)
if wasVacant then redis.call('ZADD', occupied, 0, name) end

local stream, serial, last, first = nil, nil, false, false
if has('t') then
    stream, serial = openStream(epoch, messages, announcements)
elseif has('r') then
    stream, serial = newest(messages)
end
if stream then
    last = digits(stream) .. '-' .. serial
    local kept = redis.call('XRANGE', messages, '-', '+', 'COUNT', 1)
    if kept[1] then first = kept[1][1] end
end
return {
    sum(subscriptions), wasVacant and 1 or 0, last, first,
    has('k') and redis.call('GET', cached), has('p') and redis.call('HGETALL', infos) or {},
}
