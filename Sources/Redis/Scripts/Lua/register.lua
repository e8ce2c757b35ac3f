-- Makes a node known, and begins an epoch if the store has another primary than before.
--
-- KEYS  epoch, nodes, the node's items, counter
-- ARGV  node; of the server: run ID, replication ID, the replication ID that it has followed before (empty for none),
--       time of its start in ms; the newest stream ID that the node knows (0 for none), how publishes are acknowledged,
--       version of the layout; since when the epoch is that the node knows (0 for none); the run ID of the server that has told
--       the node that the partition has moved from it (empty for none); the configuration epoch in which the Sentinels name the
--       server (0 without Sentinels)
--
-- Acknowledgement: `primary`, `replica`, or `all` if every replica of the store has each acknowledged message.
--
-- The epoch goes on if the process is the same and has followed no other since: a primary that became a replica and was
-- promoted again has the data of another. A replication ID also changes when a backlog is made or freed, but then no
-- former one is kept. A primary that was replaced, and promoted again before it followed the other, looks as if nothing had
-- happened: only the Sentinels' configuration epoch tells, and what the other has executed is lost. Data from before that number
-- was kept has none.
--
-- It also goes on if the epoch's own process has told the node that the partition's slot has moved, and this server has never
-- followed that one: then all keys have come one by one (MIGRATE), up to the last write. A server that has followed the other
-- may have taken its place, and lack the last writes; then the node names no process. Replication IDs alone do not tell: that of
-- a primary changes when its first replica comes.
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
local knownEpoch, origin, failover = tonumber(ARGV[9]), ARGV[10], tonumber(ARGV[11])

local state = redis.call('HMGET', epoch, 'run', 'since', 'clean', 'mode', 'layout', 'replication', 'base', 'failover')
if state[5] and state[5] ~= layout then
    return redis.error_reply(
        'LAYOUT the data has layout ' .. state[5] .. ', and the node has layout ' .. layout
    )
end
local time = now()
local start, clean = tonumber(state[2]) or 0, tonumber(state[3]) or 0
local base = tonumber(state[7]) or start
local lastFailover = tonumber(state[8]) or failover
local isSame = state[1] == run and (state[6] == replication or former == '') and failover <= lastFailover
local hasMoved = origin ~= '' and state[1] == origin and run ~= origin and former ~= state[6]
if isSame or hasMoved then
    if known > start and knownEpoch ~= start then
        -- Another node has begun the epoch, and knew less: no ID may be used twice.
        start = known + 1
        if clean == 0 then base = start end
        redis.call('HSET', epoch, 'since', digits(start), 'base', digits(base))
    end
    -- What has moved may be missing in the replicas of its new server.
    if hasMoved and mode == 'all' then mode = 'replica' end
    if state[4] == 'all' and mode ~= 'all' then redis.call('HSET', epoch, 'mode', mode) end
    if hasMoved or state[6] ~= replication then
        redis.call('HSET', epoch, 'run', run, 'replication', replication)
    end
    if not state[8] then redis.call('HSET', epoch, 'failover', digits(failover)) end
else
    local heartbeat = redis.call('ZREVRANGE', nodes, 0, 0, 'WITHSCORES')[2]
    -- RESP2, to which scripts convert, has numbers as strings.
    heartbeat = heartbeat and tonumber(heartbeat) or 0
    local wasReplica = former ~= '' and former == state[6] and started < heartbeat
    clean = (state[4] == 'all' and wasReplica) and 1 or 0
    start = math.max(time, start, known) + 1
    if clean == 0 then base = start end
    redis.call('HSET', epoch, 'run', run, 'replication', replication, 'since', digits(start),
        'base', digits(base), 'clean', clean, 'mode', mode, 'layout', layout, 'failover', digits(failover))
end

local wasRegistered = 1 - redis.call('SADD', items, '.')
redis.call('ZADD', nodes, digits(time), node)
return { start, clean, wasRegistered, tonumber(redis.call('GET', counter)) or 0, time, base }
