/// The scripts that number, store and announce the shared data of all nodes of a cluster.
///
/// Each file describes its keys, arguments and result. All keys of a call belong to one partition, so they have one
/// hash tag (Redis Cluster specification). All calls can be repeated, except `publish` and `open` without an
/// idempotency key.
///
/// The scripts begin with a shebang, so that Redis refuses a script without memory, or on a replica, before its first
/// command.
public final class ClusterScripts: Sendable {
    /// Registers a node, and begins an epoch if the primary is not the same as before.
    public let register: RedisScript
    /// Renews a node, and its leadership.
    public let heartbeat: RedisScript
    /// Claims a number for a node that no other node has, or renews it.
    public let number: RedisScript
    /// Ends a dead node, and lists its remaining items.
    public let condemn: RedisScript
    /// Numbers, stores and announces messages.
    public let publish: RedisScript
    /// Does the same on the current streams of the channels; begins a stream if necessary.
    public let open: RedisScript
    /// Finds the current stream of a channel, or begins one.
    public let begin: RedisScript
    /// Removes the messages of a channel, and begins another stream.
    public let purge: RedisScript
    /// Reads the newest positions of streams, and renews the streams.
    public let positions: RedisScript
    /// Sets the number of a node's subscriptions to a channel, and reads the data with which a subscription begins.
    public let attach: RedisScript
    /// Removes a node's subscriptions to a channel.
    public let detach: RedisScript
    /// Makes a user a member of a channel.
    public let join: RedisScript
    /// Ends a membership.
    public let leave: RedisScript
    /// Removes a channel from a node that has ended.
    public let reap: RedisScript
    /// Sets the number of a node's connections of a user.
    public let user: RedisScript
    /// Reads which users are online.
    public let watch: RedisScript
    /// Terminates the connections of a user.
    public let terminate: RedisScript
    /// Makes a connection the owner of a session.
    public let claim: RedisScript
    /// Stores the state of a session.
    public let park: RedisScript
    /// Executes due work, and reads webhooks.
    public let timers: RedisScript
    /// Announces the number of a channel's subscriptions that was due.
    public let count: RedisScript
    /// Removes old messages of a stream that was due, and renews the stream.
    public let trim: RedisScript
    /// Announces that a user is offline, which was due.
    public let offline: RedisScript
    /// Removes webhooks from the queue.
    public let settle: RedisScript
    /// Reads what a pool keeps of the apps.
    public let uses: RedisScript

    /// All scripts, for ``RedisSettings/scripts``.
    public var all: [RedisScript] {
        [
            register, heartbeat, number, condemn, publish, open, begin, purge, positions, attach,
            detach, join, leave, reap, user, watch, terminate, claim, park, timers, count, trim,
            offline, settle, uses,
        ]
    }

    /// The version of the keys and their contents; nodes with another one are refused.
    public static let layout = 2
    /// The maximum number of messages in one call of `publish` or `open`, so that Redis is not blocked for long.
    ///
    /// Also the maximum number of channels or users in other calls.
    public static let messageCountMax = 64

    /// Makes the scripts.
    ///
    /// - Parameters:
    ///   - isSharded: Whether messages are announced by `SPUBLISH`, as a Redis Cluster requires.
    ///   - webhooksMax: The maximum number of waiting webhooks in a partition; above it the oldest are dropped.
    public convenience init(isSharded: Bool, webhooksMax: Int = 16_384) {
        self.init(isSharded: isSharded, webhooksMax: webhooksMax, time: PackageResources.time_lua)
    }

    /// Makes scripts whose clock is a key, for comparisons with a model.
    ///
    /// - Parameters:
    ///   - key: The clock's key, whose value is a time in milliseconds.
    ///   - lifetimeScale: The factor by which keys live longer than their lifetimes, so that a test decides when they
    ///     expire.
    ///   - webhooksMax: The maximum number of waiting webhooks in a partition.
    package convenience init(clock key: String, lifetimeScale: Int, webhooksMax: Int) {
        let time = """
            local function now() return tonumber(redis.call('GET', '\(key)')) end
            local redis = setmetatable({
                call = function(name, ...)
                    local arguments = { ... }
                    local place = name == 'EXPIRE' and 2
                        or name == 'SET' and (arguments[3] == 'EX' or arguments[3] == 'PX') and 4
                    if place then arguments[place] = digits(arguments[place] * \(lifetimeScale)) end
                    return redis.call(name, unpack(arguments))
                end,
            }, { __index = redis })

            """
        self.init(isSharded: false, webhooksMax: webhooksMax, time: Array(time.utf8))
    }

    private init(isSharded: Bool, webhooksMax: Int, time: [UInt8]) {
        typealias Lua = PackageResources
        func script(
            _ name: String,
            _ parts: [UInt8]...,
            opens: Bool = false,
            allowsOutOfMemory: Bool = false
        ) -> RedisScript {
            let first = """
                #!lua\(allowsOutOfMemory ? " flags=allow-oom" : "")
                local PUBLISH = '\(isSharded ? "SPUBLISH" : "PUBLISH")'
                local WEBHOOKS_MAX = \(webhooksMax)
                local OPENS = \(opens)

                """
            // Not `joined()`, which takes half of a simulation's time in a debug build.
            let source = parts.reduce(Array(first.utf8) + Lua.common_lua + time, +)
            return RedisScript(name: name, source: source)
        }
        let webhooks = Lua.webhooks_lua
        let subscriptions = Lua.nodes_lua + webhooks + Lua.counts_lua
        // Scripts that keep a node registered, or free memory, also work without memory.
        let always = true
        register = script("register", Lua.register_lua, allowsOutOfMemory: always)
        heartbeat = script(
            "heartbeat",
            Lua.nodes_lua,
            Lua.leader_lua,
            Lua.heartbeat_lua,
            allowsOutOfMemory: always
        )
        number = script("number", Lua.number_lua, allowsOutOfMemory: always)
        condemn = script("condemn", Lua.leader_lua, Lua.condemn_lua, allowsOutOfMemory: always)
        let vacancies = Lua.sizes_lua + Lua.kept_lua + Lua.vacant_lua
        let opening = vacancies + Lua.opening_lua
        // Code that few messages need is a function, so that the calls of others do not create its contents.
        func keeping(_ parts: [UInt8]) -> [UInt8] {
            Array("local function keeping()\n".utf8) + parts + Array("end\n".utf8)
        }
        publish = script(
            "publish",
            Lua.sizes_lua,
            keeping(webhooks + Lua.kept_lua + Lua.retaining_lua),
            Lua.publish_lua
        )
        open = script(
            "open",
            opening,
            keeping(webhooks + Lua.retaining_lua),
            Lua.publish_lua,
            opens: true
        )
        begin = script("begin", opening, Lua.begin_lua)
        purge = script("purge", opening, Lua.purge_lua, allowsOutOfMemory: always)
        positions = script("positions", Lua.positions_lua, allowsOutOfMemory: always)
        attach = script("attach", subscriptions, opening, Lua.attach_lua)
        let leaving = subscriptions + Lua.leaving_lua
        detach = script("detach", leaving, vacancies, Lua.detach_lua, allowsOutOfMemory: always)
        join = script("join", Lua.nodes_lua, webhooks, Lua.join_lua)
        leave = script("leave", leaving, Lua.leave_lua, allowsOutOfMemory: always)
        reap = script("reap", leaving, vacancies, Lua.reap_lua, allowsOutOfMemory: always)
        // Also signs out.
        user = script("user", Lua.nodes_lua, Lua.user_lua, allowsOutOfMemory: always)
        watch = script("watch", Lua.watch_lua, allowsOutOfMemory: always)
        terminate = script("terminate", Lua.terminate_lua, allowsOutOfMemory: always)
        claim = script("claim", Lua.sessions_lua, Lua.claim_lua)
        park = script("park", Lua.sessions_lua, Lua.park_lua)
        timers = script(
            "timers",
            Lua.leader_lua,
            webhooks,
            Lua.timers_lua,
            allowsOutOfMemory: always
        )
        count = script(
            "count",
            subscriptions,
            Lua.due_lua,
            Lua.count_lua,
            allowsOutOfMemory: always
        )
        trim = script("trim", Lua.due_lua, vacancies, Lua.trim_lua, allowsOutOfMemory: always)
        offline = script("offline", Lua.due_lua, Lua.offline_lua, allowsOutOfMemory: always)
        settle = script("settle", Lua.settle_lua, allowsOutOfMemory: always)
        uses = script("uses", Lua.uses_lua, allowsOutOfMemory: always)
    }
}
