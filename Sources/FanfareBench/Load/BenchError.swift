import CommandSupport
import Net
import Primitives

enum BenchError: Error, CustomStringConvertible {
    case descriptorLimit(needed: Int, allowed: Int, option: String)
    case portRange(connections: Int, ports: Int)
    /// All local ports are in use, most of them by connections in TIME_WAIT.
    case noLocalPort
    case resolution(ResolveError)
    case unreachable(url: String, reason: String)
    case connectionRefused(index: Int, reason: String)
    case connectionLost(index: Int, reason: String)
    case eventRefused(status: Int, answer: String)
    case publisherLost(reason: String)
    case connectingStalled(connected: Int, of: Int, timeout: Duration)
    case closingStalled(closed: Int, of: Int, timeout: Duration)
    case serverLimit(Int, reason: String)
    case noServerProcess
    case memoryUnreadable(ids: [Int32])
    /// A phase made no progress within the stall timeout; ``LoadGenerator/measure(_:)`` handles it.
    case stalled
    /// A local failure: descriptors, memory, threads, certificates.
    case machine(String)

    /// One line that says what to do.
    var description: String {
        switch self {
        case .descriptorLimit(let needed, let allowed, let option):
            """
            \(grouped(needed)) file descriptors are needed, but this process may open \
            \(grouped(allowed)) (hard limit, `ulimit -Hn`). Raise it as root with \
            `ulimit -Hn \(needed)`, or use a smaller \(option).
            """
        case .portRange(let connections, let ports):
            """
            \(grouped(connections)) connections to one address need as many local ports, but there are \
            \(grouped(ports)). Widen the range: \
            `sysctl net.ipv4.ip_local_port_range="1024 65535"`.
            """
        case .noLocalPort:
            """
            No local port is free: closed connections keep theirs for a minute. Widen the range: \
            `sysctl net.ipv4.ip_local_port_range="1024 65535"`.
            """
        case .resolution(let error): "\(error)"
        case .unreachable(let url, let reason):
            "Cannot connect to \(url): \(reason)"
        case .connectionRefused(let index, let reason):
            "Connection \(grouped(index + 1)) was refused: \(reason)"
        case .connectionLost(let index, let reason):
            "Connection \(grouped(index + 1)) was lost: \(reason)"
        case .eventRefused(let status, let answer):
            ErrorHint.append(
                ErrorHint.forEvent(status: status),
                to: "The HTTP API refused an event with status \(status): \(answer)"
            )
        case .publisherLost(let reason): "The connection to the HTTP API was lost: \(reason)"
        case .connectingStalled(let connected, let all, let timeout):
            """
            No progress for \(timeout.inSeconds) s: \(grouped(connected)) of \(grouped(all)) \
            connections are subscribed.
            """
        case .closingStalled(let closed, let all, let timeout):
            """
            No progress for \(timeout.inSeconds) s: \(grouped(closed)) of \(grouped(all)) \
            connections are closed.
            """
        case .serverLimit(let limit, let reason):
            """
            \(reason) The server's process may open \(limit) file descriptors: raise its limit \
            with `ulimit -n` before you start it.
            """
        case .noServerProcess:
            """
            The server's process is unknown: it is on another machine, or belongs to another user. \
            Run this on its machine as the same user or as root, with --pid.
            """
        case .memoryUnreadable(let ids):
            """
            The memory of process \(ids.map(String.init).joined(separator: ", ")) cannot be read \
            (/proc/PID/smaps_rollup): run this as the same user or as root.
            """
        case .stalled: "No progress."
        case .machine(let reason): reason
        }
    }
}

/// Hints for errors that the server reports: a sentence that says what to do; nil where there is no hint.
enum ErrorHint {
    static func append(_ hint: String?, to reason: String) -> String {
        guard let hint else { return reason }
        return reason + (reason.hasSuffix(".") ? " " : ". ") + hint
    }

    /// The hint for a code of the Pusher protocol, from a `pusher:error` or a close frame.
    static func forCode(_ code: Int) -> String? {
        switch code {
        case 4000: "The app requires TLS: use a wss:// URL."
        case 4001: "Check --key."
        case 4003: "Enable the app in the server's configuration."
        case 4004: "Raise the app's connection limit in the server's configuration."
        case 4005: "Check the path in --url: it precedes /app/KEY."
        case 4009: "Check --key and --secret, and the features of the app."
        case 4100:
            "Raise the server's limits of connections and queued bytes, or lower the load."
        case 4200...4202: "The server was stopped, or did not receive a pong in time."
        default: nil
        }
    }

    static func forUpgrade(status: Int) -> String? {
        switch status {
        case 301, 302, 307, 308: "Use the URL that the server redirects to."
        case 400, 426: "Is it a WebSocket server? A proxy may have removed the upgrade."
        case 401, 403: "Check --key, and any proxy in front of the server."
        case 404: "Check the path in --url: it precedes /app/KEY."
        case 429, 503: "The server is at a limit: raise it, or use fewer connections."
        default: nil
        }
    }

    static func forSubscription(status: Int) -> String? {
        switch status {
        case 401, 403: "Check --key and --secret."
        case 4100: "The channel or the server is at a limit: raise it, or lower the load."
        default: nil
        }
    }

    static func forEvent(status: Int) -> String? {
        switch status {
        case 401: "Check --key, --secret and --app-id, and the clocks of both machines."
        case 403: "Is the app enabled?"
        case 404: "Check --app-id, and the path in --url: it precedes /apps/ID/events."
        case 413: "Use a smaller --size, or raise the server's limit of event data."
        case 429: "Raise the app's event rate limit, or use a lower --rate."
        default: nil
        }
    }
}
