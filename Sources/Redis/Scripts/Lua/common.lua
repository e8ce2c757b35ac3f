-- What several scripts need.
--
-- A stream's ID is the time of its creation in milliseconds, and greater than the epoch's `since`. Its entries have the
-- Redis IDs STREAM-SERIAL, with serials from 1 on; an entry at place 0 says which position of a sealed stream it follows (see
-- opening.lua). Streams up to `since` are sealed: nothing is appended to them.
--
-- Redis runs a script's whole text for each call, functions included, so a script has only the parts that it needs.

-- A number in decimal digits; `..` would write a time in scientific notation.
local function digits(number) return string.format('%.0f', number) end

-- The newest ID ever of a channel's messages: the stream, as a number, and the serial. Nil without a stream.
--
-- Behind messages of a sealed stream the next one may have begun, and have none.
local function newest(messages, sealed)
    if redis.call('EXISTS', messages) == 0 then return nil end
    local id
    local last = redis.call('XREVRANGE', messages, '+', '-', 'COUNT', 1)[1]
    if last then id = last[1] end
    if not last or tonumber(string.match(id, '^%d+')) <= sealed then
        local info = redis.call('XINFO', 'STREAM', messages)
        for index = 1, #info, 2 do
            if info[index] == 'last-generated-id' then id = info[index + 1] end
        end
    end
    local stream, serial = string.match(id, '^(%d+)-(%d+)$')
    return tonumber(stream), serial
end

-- The largest serial, and ID of a stream: 2^53 - 1, which every reader represents exactly.
local MAX = 9007199254740991

-- The epoch's `since`; 0 before the first registration.
local function since(epoch) return tonumber(redis.call('HGET', epoch, 'since')) or 0 end
