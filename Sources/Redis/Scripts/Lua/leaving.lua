-- The ends of subscriptions and memberships, for `detach`, `leave` and `reap`.

-- Ends a node's subscriptions to a channel. Returns the number that is left, and whether the channel became vacant.
local function endSubscriptions(keys, flags, node, channel, time, delay)
    local removed = redis.call('HDEL', keys.subscriptions, node)
    redis.call('SREM', keys.items, 'c:' .. channel)
    local total = sum(keys.subscriptions)
    if removed == 0 then return total, false end
    local isVacant = redis.call('HLEN', keys.subscriptions) == 0
    if isVacant then
        redis.call('ZREM', keys.occupied, string.match(channel, '^[^:]*:(.*)$'))
        if string.find(flags, 'o', 1, true) then
            redis.call('ZADD', keys.due, digits(time + delay), 'v:' .. channel)
        end
    end
    announceCount(keys, flags, channel, total, time)
    return total, isVacant
end

-- Takes one node from a user, who is a member on it. Returns whether it was the last one.
local function endMembership(keys, flags, channel, user, time, delay)
    if redis.call('HINCRBY', keys.members, user, -1) > 0 then return false end
    redis.call('HDEL', keys.members, user)
    redis.call('HDEL', keys.infos, user)
    redis.call(PUBLISH, keys.announcements, '0 - - ' .. digits(time) .. ' ' .. user)
    if string.find(flags, 'j', 1, true) then
        redis.call('ZADD', keys.due, digits(time + delay), 'm:' .. channel .. ':' .. user)
    end
    return true
end
