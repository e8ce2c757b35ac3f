-- Nodes that are registered, for all scripts that change what a node has.

local function isRegistered(items) return redis.call('SISMEMBER', items, '.') == 1 end

local function fenced(node)
    return redis.error_reply('FENCED node ' .. node .. ' is not registered')
end

-- The sum of a hash's values.
local function sum(hash)
    local total = 0
    for _, value in ipairs(redis.call('HVALS', hash)) do total = total + tonumber(value) end
    return total
end
