-- Webhooks, for all scripts that change what they report.
--
-- A departure waits in `due`, and an arrival in the meantime removes it there: then neither is recorded. Entries of `due`,
-- by the time when they are due: `v:APP:CHANNEL` the channel became vacant, `m:APP:CHANNEL:USER` a member left.

-- How long a departure waits, in ms.
local DEPARTURE = 3000

-- How long a departure still waits that the node has reported so many ms late.
local function remaining(elapsed) return math.max(0, DEPARTURE - tonumber(elapsed)) end

-- Appends a webhook to the queue. Beyond the limit the oldest is dropped, and counted.
local function record(epoch, webhooks, kind, time, channel, rest)
    if redis.call('XLEN', webhooks) >= WEBHOOKS_MAX then
        local dropped = redis.call('XTRIM', webhooks, 'MAXLEN', WEBHOOKS_MAX - 1)
        redis.call('HINCRBY', epoch, 'dropped', dropped)
    end
    local text = kind .. ' ' .. digits(time) .. ' ' .. channel
    if rest then text = text .. ' ' .. rest end
    -- IDs grow from epoch to epoch, so none names two webhooks.
    redis.call('XADD', webhooks, digits(since(epoch)) .. '-*', 'd', text)
end

-- Records an arrival, unless it ends a departure that waits.
local function arrive(epoch, webhooks, due, departure, kind, time, channel, rest)
    if redis.call('ZREM', due, departure) == 0 then
        record(epoch, webhooks, kind, time, channel, rest)
    end
end
