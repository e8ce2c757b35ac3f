-- Terminates the connections of a user: announced as `terminate TIME`, and known for 120 s to nodes that reconnect.
--
-- KEYS  announcements of the user, termination
--
-- Returns the time in ms.

local time = now()
redis.call('SET', KEYS[2], digits(time), 'EX', 120)
redis.call(PUBLISH, KEYS[1], 'terminate ' .. digits(time))
return time
