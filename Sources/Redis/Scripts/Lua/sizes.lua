-- How messages are counted, for all scripts that add messages or remove them (see kept.lua).

local function appOf(messages) return string.match(messages, '}:h:([^:]*):') end

-- What a message counts beyond its text, in bytes.
local OVERHEAD = 32

-- What the bytes of a stream count for its app and for all: from 2 KiB on, steps of an eighth to a sixteenth, 2 KiB at most, so that
-- few messages change it.
local function counted(bytes)
    if bytes < 2048 then return bytes end
    local step = bytes < 4096 and 256 or bytes < 8192 and 512 or bytes < 16384 and 1024 or 2048
    return math.ceil(bytes / step) * step
end
