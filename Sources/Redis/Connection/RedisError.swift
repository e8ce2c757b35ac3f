import Primitives
public import RESP

/// An error that Redis has sent in place of a reply.
public struct RedisError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The errors that the connection or its owner distinguishes, by the first word.
    public enum Code: String, Sendable, CaseIterable {
        /// The server is a replica: it was demoted, or the address is wrong.
        case readOnly = "READONLY"
        /// The server is reading its files.
        case loading = "LOADING"
        /// The server is a replica without a primary.
        case masterDown = "MASTERDOWN"
        /// The script is unknown: the scripts were flushed.
        case noScript = "NOSCRIPT"
        /// No password was sent, or the user was removed.
        case noAuthentication = "NOAUTH"
        /// The user or the password is wrong.
        case wrongPassword = "WRONGPASS"
        /// The user may not call the command, or use the key or the channel.
        case noPermission = "NOPERM"
        /// The server does not speak RESP3.
        case noProtocol = "NOPROTO"
        /// The memory limit is reached (`maxmemory`).
        case outOfMemory = "OOM"
        /// The server cannot save its data, and therefore refuses writes.
        case misconfigured = "MISCONF"
        /// Fewer replicas than required are connected (`min-replicas-to-write`).
        case noReplicas = "NOREPLICAS"
        /// A script has been running for too long.
        case busy = "BUSY"
        /// Another node of the Redis Cluster has the key.
        case moved = "MOVED"
        /// Another node of the Redis Cluster is taking over the key.
        case ask = "ASK"
        /// The keys are being moved between nodes of the Redis Cluster.
        case tryAgain = "TRYAGAIN"
        /// The Redis Cluster does not serve all keys.
        case clusterDown = "CLUSTERDOWN"
        /// The keys belong to several nodes of a Redis Cluster.
        case crossSlot = "CROSSSLOT"
        /// The node is not registered; an error of the cluster's scripts.
        case fenced = "FENCED"
        /// The node is registered, so no other node may remove its items; an error of the cluster's scripts.
        case alive = "ALIVE"
        /// The node does not lead the partition; an error of the cluster's scripts.
        case notLeader = "NOTLEADER"
        /// The node is not attached to the channel; an error of the cluster's scripts.
        case detached = "DETACHED"
        /// The node still has members on the channel; an error of the cluster's scripts.
        case members = "MEMBERS"
        /// The data has another layout; an error of the cluster's scripts.
        case layout = "LAYOUT"
        /// The idempotency key belongs to another message; an error of the cluster's scripts.
        case conflict = "CONFLICT"
        /// Any other error.
        case other = ""
    }

    /// The error.
    public var code: Code
    /// The whole text, at most the first 500 bytes.
    public var text: String

    /// Makes an error from the text of a reply.
    public init(_ text: String) {
        self.text = text
        code =
            text.split(separator: " ", maxSplits: 1).first
            .flatMap { Code(rawValue: String($0)) } ?? .other
    }

    /// Reads an error; nil if the reply is not an error.
    public init?(_ reply: borrowing RESPView) {
        guard reply.isError else { return nil }
        self.init(reply.withBytes { $0.extracting(0..<min($0.count, 500)).string() })
    }

    /// Whether the connection cannot be used any more.
    ///
    /// A new connection to the primary, with the scripts, resolves each of these.
    public var endsConnection: Bool {
        switch code {
        case .readOnly, .loading, .masterDown, .noScript, .noAuthentication: true
        default: false
        }
    }

    /// Whether the server of a Redis Cluster does not serve the command's keys, or not yet.
    public var isRedirection: Bool {
        switch code {
        case .moved, .ask, .tryAgain, .clusterDown: true
        default: false
        }
    }

    /// Whether the command has certainly had no effect; a script that fails for another reason may have had some.
    public var isRefusal: Bool { code != .other }

    /// The text.
    public var description: String { text }
}
