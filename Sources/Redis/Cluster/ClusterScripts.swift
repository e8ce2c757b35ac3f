/// The scripts that number, store and announce what all nodes of a cluster share.
///
/// Each file describes its keys, arguments and result. All keys of a call belong to one partition, so they have one hash
/// tag (Redis Cluster specification). All but `publish` and `open` without an idempotency key can be repeated.
///
/// They begin with a shebang: so Redis refuses a script without memory, or on a replica, before its first command.
public struct ClusterScripts: Sendable {
    /// Makes a node known, and begins an epoch if the primary is another than before.
    public let register: RedisScript
    /// Renews a node, and its leadership.
    public let heartbeat: RedisScript
    /// Numbers, stores and announces messages.
    public let publish: RedisScript
    /// Does the same on the current streams of the channels, which it begins if necessary.
    public let open: RedisScript
    /// Sets the number of a node's subscriptions to a channel, and reads what a subscription begins with.
    public let attach: RedisScript
    /// Removes a node's subscriptions to a channel.
    public let detach: RedisScript

    /// All scripts, for ``RedisSettings/scripts``.
    public var all: [RedisScript] { [register, heartbeat, publish, open, attach, detach] }

    /// The version of the keys and their contents; nodes with another one are refused.
    public static let layout = 1
    /// The most messages in one call of `publish` or `open`, so that Redis is not blocked for long.
    public static let messageCountMax = 64

    /// Makes the scripts.
    ///
    /// - Parameter isSharded: Whether messages are announced by `SPUBLISH`, as a Redis Cluster needs it.
    public init(isSharded: Bool) {
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
                local OPENS = \(opens)

                """
            return RedisScript(name: name, source: Array(first.utf8) + parts.joined())
        }
        // What keeps a node known, or frees memory, works without memory too.
        register = script(
            "register",
            Lua.common_lua,
            Lua.time_lua,
            Lua.register_lua,
            allowsOutOfMemory: true
        )
        heartbeat = script(
            "heartbeat",
            Lua.common_lua,
            Lua.time_lua,
            Lua.nodes_lua,
            Lua.heartbeat_lua,
            allowsOutOfMemory: true
        )
        publish = script("publish", Lua.common_lua, Lua.publish_lua)
        open = script(
            "open",
            Lua.common_lua,
            Lua.time_lua,
            Lua.opening_lua,
            Lua.publish_lua,
            opens: true
        )
        attach = script(
            "attach",
            Lua.common_lua,
            Lua.time_lua,
            Lua.nodes_lua,
            Lua.opening_lua,
            Lua.attach_lua
        )
        detach = script("detach", Lua.nodes_lua, Lua.detach_lua, allowsOutOfMemory: true)
    }
}
