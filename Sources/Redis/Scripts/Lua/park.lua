-- Stores the state of a session, and ends its ownership.
--
-- KEYS  sessions, their expiries, inbox of all nodes
-- ARGV  node, APP:TOKEN, socket, state, age of a session in ms, how: `park`, `checkpoint` to go on as the owner, or `share` if
--       two clients use it, when the connection was opened by the node's clock
--
-- An owner makes a checkpoint at least twice within the age, since a session without one is forgotten. `share` may come from
-- any connection that has owned the session: the owner and the one that waits get `shared APP:TOKEN SOCKET`.
--
-- Returns an outcome: 0 the connection is not the owner any more, 1 stored, 2 passed on (see claim.lua), 3 stored although the
-- session was not known: it was forgotten, or lost with Redis's data.

local keys = { sessions = KEYS[1], expiries = KEYS[2], inbox = KEYS[3] }
local node, session, socket, state = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local age, how = tonumber(ARGV[5]), ARGV[6]

local me = node .. ' ' .. socket .. ' ' .. ARGV[7]
local expiry = now() + age
local value = redis.call('HGET', keys.sessions, session)
if not value then
    if how == 'share' then return 0 end
    writeSession(keys, session, how == 'park' and '-' or me, '', state, expiry)
    return 3
end
local owner, heir = readSession(value)
if how == 'share' then
    if readConnection(owner) then notify(keys, owner, 'shared', session, '') end
    if heir ~= '' then notify(keys, heir, 'shared', session, '') end
    writeSession(keys, session, 'shared', '', '', expiry)
    return 1
end
if owner ~= me then return 0 end
if how == 'checkpoint' then
    writeSession(keys, session, owner, heir, state, expiry)
    return 1
end
if heir == '' then
    writeSession(keys, session, '-', '', state, expiry)
    return 1
end
writeSession(keys, session, heir, '', state, expiry)
notify(keys, heir, 'yielded', session, ' ' .. state)
return 2
