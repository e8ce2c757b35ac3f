-- Stores the state of a session, and ends its ownership.
--
-- KEYS  sessions, their expiries, inbox of all nodes
-- ARGV  node, APP:TOKEN, socket, state, age of a session in ms, how: `park`, `checkpoint` to go on as the owner, or `share` if
--       two clients use it
--
-- An owner makes a checkpoint at least twice within the age, since a session without one is forgotten.
--
-- Returns an outcome: 0 the connection is not the owner any more, 1 stored, 2 passed on (see claim.lua).

local keys = { sessions = KEYS[1], expiries = KEYS[2], inbox = KEYS[3] }
local node, session, socket, state = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local age, how = tonumber(ARGV[5]), ARGV[6]

local value = redis.call('HGET', keys.sessions, session)
if not value then return 0 end
local owner, heir = readSession(value)
local ownerNode, ownerSocket = readConnection(owner)
if ownerNode ~= node or ownerSocket ~= socket then return 0 end
local expiry = now() + age
if how == 'checkpoint' then
    writeSession(keys, session, owner, heir, state, expiry)
    return 1
end
if how == 'share' then
    if heir ~= '' then notify(keys, heir, 'shared', session, '') end
    writeSession(keys, session, 'shared', '', '', expiry)
    return 1
end
if heir == '' then
    writeSession(keys, session, '-', '', state, expiry)
    return 1
end
writeSession(keys, session, heir, '', state, expiry)
notify(keys, heir, 'yielded', session, ' ' .. state)
return 2
