-- Sessions of stock clients, for `claim` and `park`.
--
-- A session is a line for its owner, a line for the connection that is to follow (empty for none), and the state, which the
-- nodes encode. A connection is `NODE SOCKET OPENED`; the owner is `-` for a parked session, and `shared` for one that two
-- clients use.

local function readSession(value) return string.match(value, '^([^\n]*)\n([^\n]*)\n(.*)$') end

local function readConnection(text) return string.match(text, '^(%S+) (%S+) (%d+)$') end

local function writeSession(keys, session, owner, heir, state, expiry)
    redis.call('HSET', keys.sessions, session, owner .. '\n' .. heir .. '\n' .. state)
    redis.call('ZADD', keys.expiries, digits(expiry), session)
end

-- Sends `WORD APP:TOKEN SOCKET REST` to the node of a connection.
local function notify(keys, connection, word, session, rest)
    local node, socket = readConnection(connection)
    redis.call(PUBLISH, keys.inbox .. ':' .. node, word .. ' ' .. session .. ' ' .. socket .. rest)
end
