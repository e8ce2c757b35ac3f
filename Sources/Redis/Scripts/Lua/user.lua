-- Sets the number of a node's connections that are signed in as a user.
--
-- KEYS  the node's items, connections, announcements of the user, due, termination
-- ARGV  node, APP:USER, number of connections, the caller
--
-- With 0 connections the caller may be another node, after the end of this one (see condemn.lua).
--
-- A user that was offline is announced as `online TIME`. A user without connections is announced as offline 3 s later, or
-- as soon as possible if the node is dead: `o:APP:USER` in `due` (see offline.lua).
--
-- Returns: connections on all nodes; the time in ms at which the user's connections were last terminated, within 120 s, or 0.
-- FENCED: the caller's own node is not registered. ALIVE: another node that is registered.

local items, connections, announcements, due, termination = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local node, user, count, caller = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

if caller ~= node then
    if isRegistered(items) then return alive(node) end
elseif not isRegistered(items) then
    return fenced(node)
end
local time = now()
if count > 0 then
    local wasVacant = redis.call('HLEN', connections) == 0
    redis.call('HSET', connections, node, digits(count))
    redis.call('SADD', items, 'u:' .. user)
    if wasVacant and redis.call('ZREM', due, 'o:' .. user) == 0 then
        redis.call(PUBLISH, announcements, 'online ' .. digits(time))
    end
else
    local removed = redis.call('HDEL', connections, node)
    redis.call('SREM', items, 'u:' .. user)
    if removed == 1 and redis.call('HLEN', connections) == 0 then
        local delay = caller == node and 3000 or 0
        redis.call('ZADD', due, digits(time + delay), 'o:' .. user)
    end
end
local terminated = tonumber(redis.call('GET', termination))
if not terminated or time - terminated >= 120000 then terminated = 0 end
return { sum(connections), terminated }
