-- Removes an entry of `due` if its time has come. Returns whether it has.
local function takeDue(due, item, time)
    local score = redis.call('ZSCORE', due, item)
    if not score or tonumber(score) > time then return false end
    redis.call('ZREM', due, item)
    return true
end
