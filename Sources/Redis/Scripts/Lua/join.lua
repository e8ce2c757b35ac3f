-- Makes a user of a node a member of a channel, to which the node is attached.
--
-- KEYS  epoch, the node's items, subscriptions, announcements, due, webhooks, the node's users, members, infos
-- ARGV  node, APP:CHANNEL, flags, user, info, most members
--
-- Flags: `j` webhooks of members.
--
-- A user on several nodes is one member, with the info of the first. A new one is announced as `0 + - TIME LENGTH USERINFO`,
-- with the length of the user's ID in bytes. Members have no position in a stream: they are read again after a gap.
--
-- Returns an outcome, and the number of members: 0 the channel is full, 1 the member is new, 2 it was known. FENCED: the node
-- is not registered. DETACHED: it is not attached to the channel.

local keys = {
    epoch = KEYS[1], items = KEYS[2], subscriptions = KEYS[3], announcements = KEYS[4], due = KEYS[5],
    webhooks = KEYS[6], users = KEYS[7], members = KEYS[8], infos = KEYS[9],
}
local node, channel, flags, user, info = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local membersMax = tonumber(ARGV[6])

if not isRegistered(keys.items) then return fenced(node) end
if redis.call('HEXISTS', keys.subscriptions, node) == 0 then
    return redis.error_reply('DETACHED node ' .. node .. ' is not attached to channel ' .. channel)
end
local count = redis.call('HLEN', keys.members)
local isKnown = redis.call('HEXISTS', keys.members, user) == 1
if not isKnown and count >= membersMax then return { 0, count } end
if redis.call('SADD', keys.users, user) == 0 then return { 2, count } end
redis.call('HINCRBY', keys.members, user, 1)
if isKnown then return { 2, count } end
local time = now()
redis.call('HSET', keys.infos, user, info)
redis.call(PUBLISH, keys.announcements,
    '0 + - ' .. digits(time) .. ' ' .. #user .. ' ' .. user .. info)
if string.find(flags, 'j', 1, true) then
    arrive(keys.epoch, keys.webhooks, keys.due, 'm:' .. channel .. ':' .. user, 'added', time,
        channel, user)
end
return { 1, count + 1 }
