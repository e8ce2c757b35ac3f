-- Finds the current stream of a channel, or begins one.
--
-- KEYS  epoch, stream, announcements, due, kept
-- ARGV  most streams of the app's channels without subscriptions
--
-- Returns the position of its last message.

local keys = {
    epoch = KEYS[1], messages = KEYS[2], announcements = KEYS[3], due = KEYS[4], kept = KEYS[5],
}
local stream, serial = openStream(keys, now(), tonumber(ARGV[1]))
return digits(stream) .. '-' .. serial
