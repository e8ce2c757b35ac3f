-- Reads the newest positions of streams, and renews the streams: for the regular comparison with what a node has received.
--
-- KEYS  epoch; streams
--
-- Returns: since; for each stream the newest message's ID, or nil.

local sealed = since(KEYS[1])
local positions = { sealed }
for index = 2, #KEYS do
    local stream, serial = newest(KEYS[index], sealed)
    if stream then redis.call('EXPIRE', KEYS[index], 86400) end
    positions[index] = stream and digits(stream) .. '-' .. serial or false
end
return positions
