-- Finds the current stream of a channel, or begins one.
--
-- KEYS  epoch, stream, announcements, due
--
-- Returns the position of its last message.

local keys = { epoch = KEYS[1], messages = KEYS[2], announcements = KEYS[3], due = KEYS[4] }
local stream, serial = openStream(keys, now())
return digits(stream) .. '-' .. serial
