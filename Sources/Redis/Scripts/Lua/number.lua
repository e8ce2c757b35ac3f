-- Claims a number for a node that no other node has, or renews it. It is a part of the node's socket IDs.
--
-- KEYS  nodes by their numbers, numbers by their last renewal
-- ARGV  node, the number that it has (0 for none), time in ms for which a number is kept without a renewal
--
-- The number of a node that was renewed too late stays its own, unless another node has taken it since.
--
-- Returns: the number, from 1 to 1,023; 0 if all are taken.

local nodes, renewals = KEYS[1], KEYS[2]
local node, own, lifetime = ARGV[1], ARGV[2], tonumber(ARGV[3])
local time = now()

local function take(number)
    redis.call('HSET', nodes, number, node)
    redis.call('ZADD', renewals, digits(time), number)
    return tonumber(number)
end

if own ~= '0' then
    local holder = redis.call('HGET', nodes, own)
    if not holder or holder == node then return take(own) end
end
for number = 1, 1023 do
    if redis.call('HEXISTS', nodes, number) == 0 then return take(digits(number)) end
end
local old = redis.call('ZRANGEBYSCORE', renewals, '-inf', digits(time - lifetime), 'LIMIT', 0, 1)[1]
return old and take(old) or 0
