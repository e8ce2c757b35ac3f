-- Tenures: a key with the value `NODE UNTIL`. Its time to live only removes what is over.

-- The node that holds a tenure; nil if none does.
local function holder(key, time)
    local value = redis.call('GET', key)
    if not value then return nil end
    local node, limit = string.match(value, '^(.*) (%d+)$')
    return tonumber(limit) > time and node or nil
end

local function hold(key, node, time, length)
    redis.call('SET', key, node .. ' ' .. digits(time + length), 'PX', digits(length))
end
