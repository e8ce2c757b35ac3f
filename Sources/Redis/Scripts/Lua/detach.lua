-- Removes a node's subscriptions to a channel.
--
-- KEYS  the node's items, subscriptions, occupied channels
-- ARGV  node, the channel in items, the channel in the list of occupied ones
--
-- Returns: subscriptions on all nodes; whether the channel became vacant. FENCED: the node is not registered.

local items, subscriptions, occupied = KEYS[1], KEYS[2], KEYS[3]
local node, item, name = ARGV[1], ARGV[2], ARGV[3]

if not isRegistered(items) then return fenced(node) end
local removed = redis.call('HDEL', subscriptions, node)
redis.call('SREM', items, item)
local isVacant = redis.call('HLEN', subscriptions) == 0
if isVacant then redis.call('ZREM', occupied, name) end
return { sum(subscriptions), (isVacant and removed == 1) and 1 or 0 }
