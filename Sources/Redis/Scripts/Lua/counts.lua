-- The number of a channel's subscriptions, for all scripts that change or announce it.
--
-- A channel with more than 100 subscriptions announces them every 5 s at most: `notice` has the time of the last
-- announcement, and `#:APP:CHANNEL` in `due` that of the next one.

local function announceCount(keys, flags, channel, total, time)
    local announces, reports = string.find(flags, 'n', 1, true), string.find(flags, 's', 1, true)
    if not announces and not reports then return end
    if total > 100 then
        local last = tonumber(redis.call('GET', keys.notice))
        if last and time - last < 5000 then
            redis.call('ZADD', keys.due, 'NX', digits(last + 5000), '#:' .. channel)
            return
        end
        redis.call('SET', keys.notice, digits(time), 'EX', 5)
    else
        redis.call('DEL', keys.notice)
    end
    redis.call('ZREM', keys.due, '#:' .. channel)
    if announces and total > 0 then
        redis.call(PUBLISH, keys.announcements, '0 # - ' .. digits(time) .. ' ' .. total)
    end
    if reports then record(keys.epoch, keys.webhooks, 'count', time, channel, total) end
end
