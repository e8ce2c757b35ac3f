-- Announces the number of a channel's subscriptions, if that is due.
--
-- KEYS  epoch, subscriptions, announcements, due, webhooks, notice
-- ARGV  APP:CHANNEL, flags (see attach.lua)
--
-- Returns whether it was due.

local keys = {
    epoch = KEYS[1], announcements = KEYS[3], due = KEYS[4], webhooks = KEYS[5], notice = KEYS[6],
}
local channel, flags = ARGV[1], ARGV[2]

local time = now()
if not takeDue(keys.due, '#:' .. channel, time) then return 0 end
redis.call('DEL', keys.notice)
announceCount(keys, flags, channel, sum(KEYS[2]), time)
return 1
