-- The streams of channels without subscriptions, for the scripts that end subscriptions or begin streams (see kept.lua).

-- The streams that this call has forgotten for the limit of channels without subscriptions.
local forgottenStreams = 0

-- Removes a stream, whose next one gets a greater ID.
local function forgetStream(kept, messages)
    releaseAll(kept, messages)
    redis.call('ZREM', kept .. ':v:' .. appOf(messages), messages)
    local stream = newest(messages, math.huge)
    if not stream then return end
    if stream > (tonumber(redis.call('HGET', kept, ':')) or 0) then
        redis.call('HSET', kept, ':', digits(stream))
    end
    redis.call('DEL', messages)
end

-- Whether the channel of a stream has subscriptions.
local function isOccupied(messages)
    return redis.call('EXISTS', (string.gsub(messages, '}:h:', '}:n:', 1))) == 1
end

-- Forgets the streams that are beyond the limit: those of the channels that have had no subscriptions for longest.
local function forgetVacant(kept, app, countMax)
    local vacant = kept .. ':v:' .. app
    -- More than one after the limit was lowered.
    for _ = 1, math.min(redis.call('ZCARD', vacant) - countMax, 64) do
        local oldest = redis.call('ZPOPMIN', vacant)[1]
        if not isOccupied(oldest) then
            forgetStream(kept, oldest)
            forgottenStreams = forgottenStreams + 1
        end
    end
end

-- Counts a stream, if there is one, among those of channels without subscriptions, and keeps the limit of these.
local function vacate(kept, messages, time, countMax)
    if redis.call('EXISTS', messages) == 0 then return end
    local app = appOf(messages)
    redis.call('ZADD', kept .. ':v:' .. app, digits(time), messages)
    forgetVacant(kept, app, countMax)
end
