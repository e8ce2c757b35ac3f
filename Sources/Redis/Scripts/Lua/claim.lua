-- Makes a connection the owner of a session.
--
-- KEYS  sessions, their expiries, nodes, inbox of all nodes (announcements to one are published on INBOX:NODE)
-- ARGV  node, APP:TOKEN, socket, when the connection was opened by the node's clock, age of a session in ms, most sessions,
--       whether to take the session from an owner that does not answer, for how long the connection has been open in ms
--
-- The node of a living owner is asked to park the session (`yield APP:TOKEN SOCKET OPEN`, with the last argument); then `park`
-- passes it on to the node of the connection that has claimed it last (`yielded APP:TOKEN SOCKET STATE`). One that had claimed
-- it before gets `superseded APP:TOKEN SOCKET`.
--
-- Beyond the limit the session is forgotten that has no owner and expires first. When that was last is in the field `!`.
--
-- Returns an outcome; the state; the number of sessions that were forgotten for this one; for `new` and `full`, when a session
-- was last forgotten before, or 0:
--   new         the session is not known, or was forgotten
--   full        the same, and all sessions have owners: it is not kept
--   resumed     it was parked, or belongs to this connection already
--   checkpoint  its owner is gone without parking it; the state may be old
--   awaited     `yielded` or `shared` follows
--   superseded  a later connection of the same node has claimed it
--   shared      two clients use it

local keys = { sessions = KEYS[1], expiries = KEYS[2], nodes = KEYS[3], inbox = KEYS[4] }
local node, session, socket, opened = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local age, countMax, takes = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7] == '1'

local time = now()
local function forget(other)
    local value = redis.call('HGET', keys.sessions, other)
    if value then count(keys, value, -1) end
    redis.call('HDEL', keys.sessions, other)
    redis.call('ZREM', keys.expiries, other)
end
local expired = redis.call('ZRANGEBYSCORE', keys.expiries, '-inf', digits(time), 'LIMIT', 0, 16)
for _, other in ipairs(expired) do forget(other) end
local score = redis.call('ZSCORE', keys.expiries, session)
if score and tonumber(score) <= time then forget(session) end

-- Forgets a session without an owner, among the 64 that expire first. Returns whether there was one.
local function forgetOne()
    for _, other in ipairs(redis.call('ZRANGE', keys.expiries, 0, 63)) do
        if not readConnection((readSession(redis.call('HGET', keys.sessions, other)))) then
            forget(other)
            return true
        end
    end
    return false
end

local me = node .. ' ' .. socket .. ' ' .. opened
local value = redis.call('HGET', keys.sessions, session)
if not value then
    local last = tonumber(redis.call('HGET', keys.sessions, '!')) or 0
    local forgotten = 0
    while redis.call('ZCARD', keys.expiries) >= countMax do
        redis.call('HSET', keys.sessions, '!', digits(time))
        if not forgetOne() then return { 'full', '', forgotten, last } end
        forgotten = forgotten + 1
    end
    writeSession(keys, session, false, me, '', '', '', time + age)
    return { 'new', '', forgotten, last }
end

local owner, heir, address, state = readSession(value)
local outcome = 'resumed'
if owner == 'shared' then
    writeSession(keys, session, value, owner, '', address, '', time + age)
    return { 'shared', '', 0, 0 }
elseif owner ~= '-' and owner ~= me then
    local ownerNode, _, ownerOpened = readConnection(owner)
    if ownerNode == node and tonumber(opened) < tonumber(ownerOpened) then
        return { 'superseded', '', 0, 0 }
    end
    if not takes and redis.call('ZSCORE', keys.nodes, ownerNode) then
        if heir ~= '' and heir ~= me then notify(keys, heir, 'superseded', session, '') end
        writeSession(keys, session, value, owner, me, address, state, time + age)
        notify(keys, owner, 'yield', session, ' ' .. ARGV[8])
        return { 'awaited', '', 0, 0 }
    end
    outcome = 'checkpoint'
end
if heir ~= '' and heir ~= me then notify(keys, heir, 'superseded', session, '') end
writeSession(keys, session, value, me, '', address, state, time + age)
return { outcome, state, 0, 0 }
