-- Removes webhooks that were delivered, and puts away those that were given up.
--
-- KEYS  webhooks, dead webhooks
-- ARGV  for each webhook: `d` delivered or `x` given up, ID
--
-- Of the dead ones the last 1,000 are kept, as `ID TEXT`.
--
-- Returns the number of webhooks that are removed.

local webhooks, dead = KEYS[1], KEYS[2]
local removed = 0
for index = 1, #ARGV, 2 do
    local outcome, id = ARGV[index], ARGV[index + 1]
    if outcome == 'x' then
        local entry = redis.call('XRANGE', webhooks, id, id)[1]
        if entry then
            -- With an ID of its own: the order in which webhooks are given up is not that of the queue.
            redis.call('XADD', dead, 'MAXLEN', 1000, '*', 'd', id .. ' ' .. entry[2][2])
        end
    end
    removed = removed + redis.call('XDEL', webhooks, id)
end
return removed
