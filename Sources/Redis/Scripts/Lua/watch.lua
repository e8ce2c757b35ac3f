-- Reads which users are online; one is until its absence was announced.
--
-- KEYS  due; connections of each user
-- ARGV  APP:USER for each user
--
-- Returns for each user whether it is online.

local online = {}
for index, user in ipairs(ARGV) do
    local isOnline = redis.call('EXISTS', KEYS[index + 1]) == 1
        or redis.call('ZSCORE', KEYS[1], 'o:' .. user)
    online[index] = isOnline and 1 or 0
end
return online
