-- Ends the membership of a user on a node.
--
-- KEYS  the node's items, announcements, due, the node's users, members, infos
-- ARGV  node, APP:CHANNEL, flags (see join.lua), user, how long ago the user has left the node, in ms
--
-- Announced as `0 - - TIME USER` after the last node.
--
-- Returns an outcome, and the number of members: 0 the user was no member on this node, 1 it is none any more, 2 it is one on
-- other nodes. FENCED: the node is not registered.

local keys = {
    items = KEYS[1], announcements = KEYS[2], due = KEYS[3], users = KEYS[4], members = KEYS[5],
    infos = KEYS[6],
}
local node, channel, flags, user = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if not isRegistered(keys.items) then return fenced(node) end
local outcome = 0
if redis.call('SREM', keys.users, user) == 1 then
    local delay = remaining(ARGV[5])
    outcome = endMembership(keys, flags, channel, user, now(), delay) and 1 or 2
end
return { outcome, redis.call('HLEN', keys.members) }
