-- Executes what is due, and reads the webhooks that the leader has not read yet.
--
-- KEYS  epoch, leader, due, webhooks
-- ARGV  node, the ID of the last webhook that was read
--
-- Departures of channels and members become webhooks here. What needs further keys is returned: `#:APP:CHANNEL` (count.lua),
-- `o:APP:USER` (offline.lua), `t:APP:CHANNEL` (trim.lua).
--
-- Returns: entries that are due; IDs and texts of webhooks by turns, `KIND TIME APP:CHANNEL REST`; the number of webhooks that
-- wait; the number of those that were dropped. At most 64 of each. NOTLEADER: the node does not lead.

local epoch, leader, due, webhooks = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local node, last = ARGV[1], ARGV[2]

local time = now()
if holder(leader, time) ~= node then
    return redis.error_reply('NOTLEADER node ' .. node .. ' does not lead')
end
local others = {}
for _, item in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', digits(time), 'LIMIT', 0, 64)) do
    local kind, rest = string.match(item, '^(.):(.*)$')
    if kind == 'v' then
        record(epoch, webhooks, 'vacated', time, rest)
        redis.call('ZREM', due, item)
    elseif kind == 'm' then
        local channel, user = string.match(rest, '^([^:]*:[^:]*):(.*)$')
        record(epoch, webhooks, 'removed', time, channel, user)
        redis.call('ZREM', due, item)
    else
        others[#others + 1] = item
    end
end
local entries = {}
for _, entry in ipairs(redis.call('XRANGE', webhooks, '(' .. last, '+', 'COUNT', 64)) do
    entries[#entries + 1] = entry[1]
    entries[#entries + 1] = entry[2][2]
end
local dropped = tonumber(redis.call('HGET', epoch, 'dropped') or 0)
return { others, entries, redis.call('XLEN', webhooks), dropped }
