-- Reads what a pool keeps (see kept.lua), for the shares of the partitions of a Redis Cluster.
--
-- KEYS  kept
-- ARGV  IDs of apps
--
-- Returns the bytes of all messages; then for each app: bytes of messages, streams of channels without subscriptions,
-- idempotency keys.

local kept = KEYS[1]
local uses = { tonumber(redis.call('HGET', kept, '')) or 0 }
for _, app in ipairs(ARGV) do
    uses[#uses + 1] = tonumber(redis.call('HGET', kept, app)) or 0
    uses[#uses + 1] = redis.call('ZCARD', kept .. ':v:' .. app)
    uses[#uses + 1] = redis.call('ZCARD', kept .. ':k:' .. app)
end
return uses
