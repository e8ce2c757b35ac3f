-- Announces that a user is offline, as `offline TIME`, if that is due.
--
-- KEYS  announcements of the user, due
-- ARGV  APP:USER
--
-- Returns whether it was due.

local announcements, due, user = KEYS[1], KEYS[2], ARGV[1]

local time = now()
if not takeDue(due, 'o:' .. user, time) then return 0 end
redis.call(PUBLISH, announcements, 'offline ' .. digits(time))
return 1
