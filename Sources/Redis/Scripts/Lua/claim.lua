-- Makes a connection the owner of a session.
--
-- KEYS  sessions, their expiries, nodes, inbox of all nodes (announcements to one are published on INBOX:NODE)
-- ARGV  node, APP:TOKEN, socket, when the connection was opened by the node's clock, age of a session in ms, most sessions,
--       whether to take the session from an owner that does not answer
--
-- The node of a living owner is asked to park the session (`yield APP:TOKEN SOCKET`); then `park` passes it on to the node of
-- the connection that has claimed it last (`yielded APP:TOKEN SOCKET STATE`). One that had claimed it before gets
-- `superseded APP:TOKEN SOCKET`.
--
-- Returns an outcome, the state, and the number of sessions that were forgotten for this one:
--   new         the session is not known, or was forgotten
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
    redis.call('HDEL', keys.sessions, other)
    redis.call('ZREM', keys.expiries, other)
end
local expired = redis.call('ZRANGEBYSCORE', keys.expiries, '-inf', digits(time), 'LIMIT', 0, 16)
for _, other in ipairs(expired) do forget(other) end
local score = redis.call('ZSCORE', keys.expiries, session)
if score and tonumber(score) <= time then forget(session) end

local me = node .. ' ' .. socket .. ' ' .. opened
local value = redis.call('HGET', keys.sessions, session)
if not value then
    local forgotten = 0
    while redis.call('ZCARD', keys.expiries) >= countMax do
        forget(redis.call('ZRANGE', keys.expiries, 0, 0)[1])
        forgotten = forgotten + 1
    end
    writeSession(keys, session, me, '', '', time + age)
    return { 'new', '', forgotten }
end

local owner, heir, state = readSession(value)
local outcome = 'resumed'
if owner == 'shared' then
    writeSession(keys, session, owner, '', '', time + age)
    return { 'shared', '', 0 }
elseif owner ~= '-' and owner ~= me then
    local ownerNode, _, ownerOpened = readConnection(owner)
    if ownerNode == node and tonumber(opened) < tonumber(ownerOpened) then
        return { 'superseded', '', 0 }
    end
    if not takes and redis.call('ZSCORE', keys.nodes, ownerNode) then
        if heir ~= '' and heir ~= me then notify(keys, heir, 'superseded', session, '') end
        writeSession(keys, session, owner, me, state, time + age)
        notify(keys, owner, 'yield', session, '')
        return { 'awaited', '', 0 }
    end
    outcome = 'checkpoint'
end
if heir ~= '' and heir ~= me then notify(keys, heir, 'superseded', session, '') end
writeSession(keys, session, me, '', state, time + age)
return { outcome, state, 0 }
