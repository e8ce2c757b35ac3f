-- Makes a node known, and begins an epoch if the store has another primary than before.
--
-- KEYS  epoch, nodes, the node's items, counter
-- ARGV  node, run ID, the newest stream ID that the node knows of earlier epochs (0 for none), how publishes are
--       acknowledged, version of the layout
--
-- Acknowledgement: `primary`, `replica`, or `all` if every replica of the store has each acknowledged message. An epoch is
-- clean if that was so in the one before for all its nodes.
--
-- Returns: since, whether the epoch is clean, whether the node was registered before, counter, time in ms.

local epoch, nodes, items, counter = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local node, run, known, mode, layout = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]

local state = redis.call('HMGET', epoch, 'run', 'since', 'clean', 'mode', 'layout')
if state[5] and state[5] ~= layout then
    return redis.error_reply(
        'LAYOUT the data has layout ' .. state[5] .. ', and the node has layout ' .. layout
    )
end
local time = now()
local start, clean = tonumber(state[2]) or 0, tonumber(state[3]) or 0
if state[1] ~= run then
    clean = state[4] == 'all' and 1 or 0
    start = math.max(time, start, known) + 1
    redis.call('HSET', epoch, 'run', run, 'since', digits(start), 'clean', clean, 'mode', mode,
        'layout', layout)
else
    if known > start then
        -- Another node has begun the epoch, and knew less: no ID may be used twice.
        start = known + 1
        redis.call('HSET', epoch, 'since', digits(start))
    end
    if state[4] == 'all' and mode ~= 'all' then redis.call('HSET', epoch, 'mode', mode) end
end

local wasRegistered = 1 - redis.call('SADD', items, '.')
redis.call('ZADD', nodes, digits(time), node)
return { start, clean, wasRegistered, tonumber(redis.call('GET', counter)) or 0, time }
