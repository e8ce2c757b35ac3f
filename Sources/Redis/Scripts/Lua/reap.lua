-- Removes a channel from a node that has ended (see condemn.lua), or what is out of date of the caller's own.
--
-- KEYS  epoch, the ended node's items, subscriptions, occupied channels, announcements, due, webhooks, notice, the ended
--       node's users, kept, stream, members, infos
-- ARGV  the ended node, APP:CHANNEL, flags (see attach.lua and join.lua), most streams of the app's channels without
--       subscriptions, the caller
--
-- Members leave first, in one call at most 64. The webhooks of a dead node's departures are due at once.
--
-- Returns: members that are gone, whether to call again, streams forgotten for the limit. ALIVE: another node that is registered.

local keys = {
    epoch = KEYS[1], items = KEYS[2], subscriptions = KEYS[3], occupied = KEYS[4],
    announcements = KEYS[5], due = KEYS[6], webhooks = KEYS[7], notice = KEYS[8], users = KEYS[9],
    members = KEYS[12], infos = KEYS[13],
}
local node, channel, flags, caller = ARGV[1], ARGV[2], ARGV[3], ARGV[5]

if caller ~= node and isRegistered(keys.items) then return alive(node) end
local time, delay = now(), caller == node and DEPARTURE or 0
local users = redis.call('SPOP', keys.users, 64)
table.sort(users)
local gone = 0
for _, user in ipairs(users) do
    if endMembership(keys, flags, channel, user, time, delay) then gone = gone + 1 end
end
if redis.call('EXISTS', keys.users) == 1 then return { gone, 1, 0 } end
local _, becameVacant = endSubscriptions(keys, flags, node, channel, time, delay)
if becameVacant then vacate(KEYS[10], KEYS[11], time, tonumber(ARGV[4])) end
return { gone, 0, forgottenStreams }
