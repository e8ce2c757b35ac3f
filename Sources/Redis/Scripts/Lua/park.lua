-- Stores the state of a session, and ends its ownership.
--
-- KEYS  sessions, their expiries, inbox of all nodes
-- ARGV  node, APP:TOKEN, socket, state, age of a session in ms, how: `park`, `checkpoint` to go on as the owner, or `share` if
--       two clients use it, when the connection was opened by the node's clock, the most bytes of all sessions, a digest of
--       the client's address or an empty one
--
-- An owner makes a checkpoint at least twice within the age, since a session without one is forgotten. `share` may come from
-- any connection that has owned the session: the owner and the one that waits get `shared APP:TOKEN SOCKET`.
--
-- Once half of the most bytes are taken, an address has a quarter. A state that exceeds that is stored, or passed on, empty.
--
-- Returns an outcome: 0 the connection is not the owner any more, 1 stored, 2 passed on (see claim.lua), 3 stored although the
-- session was not known: it was forgotten, or lost with Redis's data, 4 one of these, with an empty state.

local keys = { sessions = KEYS[1], expiries = KEYS[2], inbox = KEYS[3] }
local node, session, socket, state = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local age, how = tonumber(ARGV[5]), ARGV[6]

local me = node .. ' ' .. socket .. ' ' .. ARGV[7]
local expiry = now() + age
local byteCountMax, address = tonumber(ARGV[8]), ARGV[9]
local value = redis.call('HGET', keys.sessions, session)
local owner, heir, formerAddress
if value then owner, heir, formerAddress = readSession(value) end

-- Whether the session may have its state.
local function fits()
    local former = value and #value or 0
    local sum = lengthOf(keys, '') - former + #state
    if sum > byteCountMax then return false end
    if address == '' or sum <= byteCountMax / 2 then return true end
    local own = lengthOf(keys, address) - (formerAddress == address and former or 0)
    return own + #state <= byteCountMax / 4
end
if not value then
    if how == 'share' then return 0 end
    local isWhole = fits()
    writeSession(keys, session, false, how == 'park' and '-' or me, '', address, isWhole and state or '', expiry)
    return isWhole and 3 or 4
end
if how == 'share' then
    if readConnection(owner) then notify(keys, owner, 'shared', session, '') end
    if heir ~= '' then notify(keys, heir, 'shared', session, '') end
    writeSession(keys, session, value, 'shared', '', formerAddress, '', expiry)
    return 1
end
if owner ~= me then return 0 end
local isWhole = fits()
if not isWhole then state = '' end
if how == 'checkpoint' then
    writeSession(keys, session, value, owner, heir, address, state, expiry)
    return isWhole and 1 or 4
end
if heir == '' then
    writeSession(keys, session, value, '-', '', address, state, expiry)
    return isWhole and 1 or 4
end
writeSession(keys, session, value, heir, '', address, state, expiry)
notify(keys, heir, 'yielded', session, ' ' .. state)
return isWhole and 2 or 4
