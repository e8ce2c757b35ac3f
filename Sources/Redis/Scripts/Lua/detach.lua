-- Removes a node's subscriptions to a channel.
--
-- KEYS  epoch, the node's items, subscriptions, occupied channels, announcements, due, webhooks, notice, the node's users,
--       kept, stream
-- ARGV  node, APP:CHANNEL, flags (see attach.lua), most streams of the app's channels without subscriptions, how long ago
--       the last subscription has ended, in ms
--
-- Returns: subscriptions on all nodes; whether the channel became vacant; streams forgotten for the limit. FENCED: the node is not registered. MEMBERS: users
-- of the node are members of the channel.

local keys = {
    epoch = KEYS[1], items = KEYS[2], subscriptions = KEYS[3], occupied = KEYS[4],
    announcements = KEYS[5], due = KEYS[6], webhooks = KEYS[7], notice = KEYS[8], users = KEYS[9],
}
local node, channel, flags = ARGV[1], ARGV[2], ARGV[3]

if not isRegistered(keys.items) then return fenced(node) end
if redis.call('EXISTS', keys.users) == 1 then
    return redis.error_reply('MEMBERS node ' .. node .. ' has members on channel ' .. channel)
end
local time = now()
local total, becameVacant = endSubscriptions(keys, flags, node, channel, time, remaining(ARGV[5]))
if becameVacant then vacate(KEYS[10], KEYS[11], time, tonumber(ARGV[4])) end
return { total, becameVacant and 1 or 0, forgottenStreams }
