-- Makes a node known, and begins an epoch if the store has another primary than before.
--
-- KEYS  epoch, nodes, the node's items, counter
-- ARGV  node; of the server: run ID, replication ID, the replication ID that it has followed before (empty for none),
--       time of its start in ms; the newest stream ID that the node knows of earlier epochs (0 for none), how publishes are
--       acknowledged, version of the layout
--
-- Acknowledgement: `primary`, `replica`, or `all` if every replica of the store has each acknowledged message.
--
-- The epoch goes on if the process is the same and has followed no other since: a primary that became a replica and was
-- promoted again has the data of another. A replication ID also changes when a backlog is made or freed, but then no
-- former one is kept.
--
-- An epoch is clean if nothing acknowledged is lost: all nodes of the one before waited for all replicas, and the server
-- was a replica of that epoch's primary until its end. A primary that has read its own file, which may be older, also
-- knows that replication ID, but its process is younger than the last heartbeat in the file.
--
-- Epochs follow each other cleanly from `base` on: that is `since` of the first of them.
--
-- Returns: since, whether the epoch is clean, whether the node was registered before, counter, time in ms, base.

local epoch, nodes, items, counter = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local node, run, replication, former, started = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local known, mode, layout = tonumber(ARGV[6]), ARGV[7], ARGV[8]

local state = redis.call('HMGET', epoch, 'run', 'since', 'clean', 'mode', 'layout', 'replication', 'base')
if state[5] and state[5] ~= layout then
    return redis.error_reply(
        'LAYOUT the data has layout ' .. state[5] .. ', and the node has layout ' .. layout
    )
end
local time = now()
local start, clean = tonumber(state[2]) or 0, tonumber(state[3]) or 0
local base = tonumber(state[7]) or start
if state[1] == run and (state[6] == replication or former == '') then
    if known > start then
        -- Another node has begun the epoch, and knew less: no ID may be used twice.
        start = known + 1
        if clean == 0 then base = start end
        redis.call('HSET', epoch, 'since', digits(start), 'base', digits(base))
    end
    if state[4] == 'all' and mode ~= 'all' then redis.call('HSET', epoch, 'mode', mode) end
    if state[6] ~= replication then redis.call('HSET', epoch, 'replication', replication) end
else
    local heartbeat = redis.call('ZREVRANGE', nodes, 0, 0, 'WITHSCORES')[2]
    -- RESP2, to which scripts convert, has numbers as strings.
    heartbeat = heartbeat and tonumber(heartbeat) or 0
    local wasReplica = former ~= '' and former == state[6] and started < heartbeat
    clean = (state[4] == 'all' and wasReplica) and 1 or 0
    start = math.max(time, start, known) + 1
    if clean == 0 then base = start end
    redis.call('HSET', epoch, 'run', run, 'replication', replication, 'since', digits(start),
        'base', digits(base), 'clean', clean, 'mode', mode, 'layout', layout)
end

local wasRegistered = 1 - redis.call('SADD', items, '.')
redis.call('ZADD', nodes, digits(time), node)
return { start, clean, wasRegistered, tonumber(redis.call('GET', counter)) or 0, time, base }
