-- Ends a node whose lease is over, or the caller's own, and lists what is left of it.
--
-- KEYS  nodes, the ended node's items, leader, the right to remove what it had
-- ARGV  the ended node, the lease in ms, the caller
--
-- From now on the node is fenced until it registers again. One caller at a time removes what it had (see reap.lua), for 10 s
-- from its last call on.
--
-- Returns one of
--   {0}            the node is alive
--   {1}            another node removes what it had
--   {2, items...}  the caller is to remove these items (at most 64), and to call again
--   {3}            nothing was left, and the node is forgotten
--   {4}            the node is not known

local nodes, items, leader, right = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local node, lease, caller = ARGV[1], tonumber(ARGV[2]), ARGV[3]

local time = now()
local heartbeat = tonumber(redis.call('ZSCORE', nodes, node))
if caller ~= node and heartbeat and time - heartbeat <= lease then return { 0 } end
local other = holder(right, time)
if other and other ~= caller then return { 1 } end
redis.call('SREM', items, '.')
if holder(leader, time) == node then redis.call('DEL', leader) end
local left = redis.call('SRANDMEMBER', items, 64)
if #left == 0 then
    redis.call('DEL', right)
    return { redis.call('ZREM', nodes, node) == 1 and 3 or 4 }
end
-- Without a heartbeat, the node would not be listed as dead after the caller's own end.
if not heartbeat then redis.call('ZADD', nodes, 0, node) end
hold(right, caller, time, 10000)
table.sort(left)
table.insert(left, 1, 2)
return left
