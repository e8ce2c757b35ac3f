/// The scripts that number, store and announce what all nodes of a cluster share.
///
/// Each file describes its keys, arguments and result. All keys of a call belong to one partition, so they have one hash
/// tag (Redis Cluster specification). All but `publish` and `open` without an idempotency key can be repeated.
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
        func script(
            _ name: String,
            _ parts: [UInt8]...,
            allowsOutOfMemory: Bool = false
        ) -> RedisScript {
            // With the shebang, Redis refuses before the first command instead of in the middle.
            let first = "#!lua" + (allowsOutOfMemory ? " flags=allow-oom" : "")
            let command = "local PUBLISH = '\(isSharded ? "SPUBLISH" : "PUBLISH")'"
            let lines = Array("\(first)\n\(command)\n".utf8)
            return RedisScript(
                name: name,
                source: lines + (PackageResources.common_lua + parts.joined())
            )
        }
        // What keeps a node known and frees memory works without memory, too.
        register = script("register", PackageResources.register_lua, allowsOutOfMemory: true)
        heartbeat = script("heartbeat", PackageResources.heartbeat_lua, allowsOutOfMemory: true)
        publish = script("publish", PackageResources.publishing_lua, PackageResources.publish_lua)
        open = script("open", PackageResources.publishing_lua, PackageResources.open_lua)
        attach = script("attach", PackageResources.attach_lua)
        detach = script("detach", PackageResources.detach_lua, allowsOutOfMemory: true)
    }
}
