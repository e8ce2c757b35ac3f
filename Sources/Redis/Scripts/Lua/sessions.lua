-- Sessions of stock clients, for `claim` and `park`.
--
-- A session is a line for its owner, a line for the connection that is to follow (empty for none), a line with a digest of its
-- client's address (empty if it is not known), and the state, which the nodes encode. A connection is `NODE SOCKET OPENED`; the
-- owner is `-` for a parked session, and `shared` for one that two clients use.
--
-- The field `#` has the length of all sessions, `#DIGEST` that of the sessions of one address.

local function readSession(value) return string.match(value, '^([^\n]*)\n([^\n]*)\n([^\n]*)\n(.*)$') end

local function readConnection(text) return string.match(text, '^(%S+) (%S+) (%d+)$') end

local function lengthOf(keys, address)
    return tonumber(redis.call('HGET', keys.sessions, '#' .. address)) or 0
end

local function add(keys, address, length)
    local sum = lengthOf(keys, address) + length
    if sum > 0 then
        redis.call('HSET', keys.sessions, '#' .. address, digits(sum))
    else
        redis.call('HDEL', keys.sessions, '#' .. address)
    end
end

-- Adds the length of a session, or takes it away (`sign` -1).
local function count(keys, value, sign)
    local _, _, address = readSession(value)
    add(keys, '', sign * #value)
    if address and address ~= '' then add(keys, address, sign * #value) end
end

-- `former` is the session's value until now, or false.
local function writeSession(keys, session, former, owner, heir, address, state, expiry)
    local value = owner .. '\n' .. heir .. '\n' .. address .. '\n' .. state
    if former then count(keys, former, -1) end
    count(keys, value, 1)
    redis.call('HSET', keys.sessions, session, value)
    redis.call('ZADD', keys.expiries, digits(expiry), session)
end

-- Sends `WORD APP:TOKEN SOCKET REST` to the node of a connection.
local function notify(keys, connection, word, session, rest)
    local node, socket = readConnection(connection)
    redis.call(PUBLISH, keys.inbox .. ':' .. node, word .. ' ' .. session .. ' ' .. socket .. rest)
end
