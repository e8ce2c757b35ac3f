-- Renews a node, and its leadership; takes a leadership that is vacant, or gives up its own.
--
-- KEYS  epoch, nodes, the node's items, counter, leader
-- ARGV  node, lease in ms, how publishes are acknowledged (see register.lua), whether the node is to lead
--
-- Returns: since, whether the epoch is clean, whether the node is registered, counter, whether it leads, time in ms,
-- nodes whose lease is over (at most 16). A node that is not registered is not renewed.

local epoch, nodes, items, counter, leader = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local node, lease, mode, mayLead = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4] == '1'

local time = now()
local state = redis.call('HMGET', epoch, 'since', 'clean', 'mode')
local registered, leads = 0, 0
if state[1] and isRegistered(items) then
    registered = 1
    redis.call('ZADD', nodes, digits(time), node)
    if state[3] == 'all' and mode ~= 'all' then redis.call('HSET', epoch, 'mode', mode) end
    local other = holder(leader, time)
    if not mayLead then
        if other == node then redis.call('DEL', leader) end
    elseif not other or other == node then
        leads = 1
        hold(leader, node, time, lease)
    end
end
local dead = redis.call('ZRANGEBYSCORE', nodes, '-inf', '(' .. digits(time - lease), 'LIMIT', 0, 16)
return {
    tonumber(state[1]) or 0, tonumber(state[2]) or 0, registered,
    tonumber(redis.call('GET', counter)) or 0, leads, time, dead,
}
