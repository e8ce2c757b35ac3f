-- Numbers, stores and announces messages.
--
-- Two scripts: `publish`, and with OPENS `open`, which publishes on the current streams of the channels, whichever the
-- caller knows, and begins those that are missing.
--
-- KEYS  for each partition: counter, epoch, due, webhooks, kept; then for each of its messages: stream, announcements; with `i`:
--       idempotency; with `k`: cached events of the app, their expiries, miss
-- ARGV  for each partition: the number of its messages; then for each of them: flags, stream ID, most messages to keep,
--       budgets, entry; with `i`: digest, age in seconds, most keys; with `k`: channel, lifetime in seconds, most cached events; with `w`:
--       APP:CHANNEL, body of the webhook; with `c`: position
--
-- Flags: `i` the message has an idempotency key, `k` it is kept as the channel's cached event, `w` it is a client event that a
-- webhook reports, `c` it is published only if that is the channel's last position.
-- Stream ID: the one that the caller knows; `-` for a recoverable channel of which it knows none; empty for a channel
-- that is not recoverable.
-- Budgets: `BYTES TOTAL POSITIONS`, of a pool (see kept.lua): the bytes of the app's messages and of all, 0 without a limit;
-- the streams of the app's channels without subscriptions.
-- Entry: `KIND EXCEPT TIME BODY`. Announced as `SERIAL ENTRY`, with serial 0 for a message without a position.
--
-- Returns for each message:
--   serial         it has this place in the caller's stream; 0: it has no position
--   STREAM-SERIAL  it has this position, in a stream that the caller did not name
--   {POSITION}     it was published before, with the same idempotency key; the position is `-` if it has none
--   {POSITION, 0}  it is not published: the channel's last position is this one; `-` without a stream
--   nil            the caller's stream has ended: repeat the message through `open`
--   error          it is not published; CONFLICT: the idempotency key belongs to another message
-- If something else had to go, then the numbers of messages removed for the budgets of apps and of all, of keys, of streams, and
-- of cached events.

--
-- What is a function, or is used in one, costs each call a tenth of a microsecond. So messages are published in a loop, and what
-- few of them need is in `keeping` (see retaining.lua).

-- Adds a change to what the streams of an app count. Returns the limits of the app and of all that are exceeded.
local function add(pool, app, change, budgets)
    if change == 0 then return end
    local ofApp, ofAll = redis.call('HINCRBY', pool, app, change), redis.call('HINCRBY', pool, '', change)
    local appMax, max = string.match(budgets, '^(%d+) (%d+)')
    appMax, max = tonumber(appMax), tonumber(max)
    return appMax > 0 and ofApp > appMax and appMax, max > 0 and ofAll > max and max
end

local call = redis.call

-- What few messages need, and the time in ms; nil until one does.
local keeper, time

-- By how much this call has changed what the streams of an app count, and the last budgets. Added with the last of its messages.
local pool, app, change, limits

-- What was removed for the limits of idempotency keys and of cached events.
local forgotten, dropped = 0, 0

local outcomes = {}
local keys, arguments = 0, 0
while arguments < #ARGV do
    local counter, epoch, due, webhooks, kept = unpack(KEYS, keys + 1, keys + 5)
    -- Up to which ID the streams of the partition are sealed; read once.
    local sealed
    local count = tonumber(ARGV[arguments + 1])
    keys, arguments = keys + 5, arguments + 1
    for _ = 1, count do
        local messages, announcements = KEYS[keys + 1], KEYS[keys + 2]
        local flags, stream = ARGV[arguments + 1], ARGV[arguments + 2]
        local countMax, budgets, entry = tonumber(ARGV[arguments + 3]), ARGV[arguments + 4], ARGV[arguments + 5]
        keys, arguments = keys + 2, arguments + 5
        local idempotency, digest, age, keysMax, cachedAt, cachedAs, channel, body, expected
        if flags ~= '' then
            if string.find(flags, 'i', 1, true) then
                idempotency, digest, age, keysMax = KEYS[keys + 1], unpack(ARGV, arguments + 1, arguments + 3)
                keys, arguments = keys + 1, arguments + 3
            end
            if string.find(flags, 'k', 1, true) then
                cachedAt, cachedAs = keys, arguments
                keys, arguments = keys + 3, arguments + 3
            end
            if string.find(flags, 'w', 1, true) then
                channel, body = ARGV[arguments + 1], ARGV[arguments + 2]
                arguments = arguments + 2
            end
            if string.find(flags, 'c', 1, true) then
                expected, arguments = ARGV[arguments + 1], arguments + 1
            end
            keeper, time = keeper or keeping(), time or now()
        end

        -- Publishes the message, unless it breaks off with another outcome.
        local outcome = false
        repeat
            if idempotency then
                local earlier = call('GET', idempotency)
                if earlier then
                    local position, known = string.match(earlier, '^(%S+) (.*)$')
                    outcome = known == digest and { position }
                        or redis.error_reply('CONFLICT the idempotency key belongs to another message')
                    break
                end
            end

            local isNamed = true
            if OPENS then
                time = time or now()
                stream, isNamed = digits((openStream({
                    epoch = epoch, messages = messages, announcements = announcements, due = due, kept = kept,
                }, time, tonumber(string.match(budgets, '%d+$'))))), false
            elseif stream == '-' then
                sealed = sealed or since(epoch)
                local current = newest(messages, sealed)
                if not current then
                    stream = ''
                else
                    if current <= sealed or current > MAX then break end
                    stream, isNamed = digits(current), false
                end
            elseif stream ~= '' then
                sealed = sealed or since(epoch)
                if tonumber(stream) <= sealed then break end
            end

            if expected then
                local current, last = newest(messages, sealed or since(epoch))
                local present = current and digits(current) .. '-' .. last or '-'
                if present ~= expected then
                    outcome = { present, 0 }
                    break
                end
            end

            local position, serial, place = '-', '0', 0
            if stream == '' then
                call('INCR', counter)
            else
                position = redis.pcall('XADD', messages, 'NOMKSTREAM', stream .. '-*', 'd', entry)
                if not position then break end
                if position.err then
                    -- A newer stream has begun, or it is not possible.
                    if not string.find(position.err, 'equal or smaller', 1, true) then outcome = position end
                    break
                end
                serial = string.sub(position, #stream + 2)
                place = tonumber(serial)
                -- The stream is older than the caller's, which was lost, or full.
                if place == 0 or place > MAX then
                    keeper = keeper or keeping()
                    keeper.giveBack(messages, position)
                    break
                end

                local bytes = #entry + OVERHEAD
                local total = call('HINCRBY', kept, messages, bytes)
                local former = total - bytes
                -- The difference of what is counted, faster for the steps of long streams.
                local difference = former > 16384 and bytes + (former - 1) % 2048 - (total - 1) % 2048
                    or counted(total) - counted(former)
                if former == 0 then
                    keeper, time = keeper or keeping(), time or now()
                    keeper.begin(kept, messages, time)
                end
                -- A stream is shortened once in an eighth of its most messages, 64 at most: at the same places in each sequence of
                -- as many, so that it is shortened to that number exactly.
                local places = countMax > 512 and (countMax + 63 - (countMax - 1) % 64) / 64 or 8
                if place * places % countMax < places then
                    keeper = keeper or keeping()
                    difference = difference + keeper.shorten(kept, messages, total, countMax)
                end
                if difference ~= 0 then
                    local ofApp = appOf(messages)
                    if pool ~= kept or app ~= ofApp then
                        if pool then
                            keeper = keeper or keeping()
                            keeper.exceed(pool, app, add(pool, app, change, limits))
                        end
                        pool, app, change = kept, ofApp, 0
                    end
                    change, limits = change + difference, budgets
                end
            end

            local announcement = serial .. ' ' .. entry
            if cachedAt then
                dropped = dropped + keeper.cache(KEYS[cachedAt + 1], KEYS[cachedAt + 2], KEYS[cachedAt + 3],
                    announcement, ARGV[cachedAs + 1], tonumber(ARGV[cachedAs + 2]), time, tonumber(ARGV[cachedAs + 3]))
            end
            if idempotency then
                forgotten = forgotten + keeper.remember(kept, messages, idempotency, position .. ' ' .. digest, age, time,
                    tonumber(keysMax))
            end
            call(PUBLISH, announcements, announcement)
            if channel then keeper.record(epoch, webhooks, 'client', time, channel, body) end
            outcome = isNamed and place or position
        until true
        outcomes[#outcomes + 1] = outcome
    end
end

local ofApps, ofAll = 0, 0
if pool then
    local appMax, max = add(pool, app, change, limits)
    if appMax or max then
        keeper = keeper or keeping()
        keeper.exceed(pool, app, appMax, max)
    end
end
if keeper then ofApps, ofAll = keeper.settle() end
local streams = OPENS and forgottenStreams or 0
if ofApps + ofAll + forgotten + streams + dropped > 0 then
    outcomes[#outcomes + 1] = { ofApps, ofAll, forgotten, streams, dropped }
end
return outcomes
