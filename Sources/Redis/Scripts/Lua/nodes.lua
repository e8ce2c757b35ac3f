-- Nodes that are registered, for all scripts that change what a node has.

local function isRegistered(items) return redis.call('SISMEMBER', items, '.') == 1 end

local function fenced(node)
    return redis.error_reply('FENCED node ' .. node .. ' is not registered')
end

-- Another node may remove what a node has only after its end.
local function alive(node)
    return redis.error_reply('ALIVE node ' .. node .. ' is registered')
end

-- The sum of a hash's values.
local function sum(hash)
    local total = 0
    for _, value in ipairs(redis.call('HVALS', hash)) do total = total + tonumber(value) end
    return total
end
