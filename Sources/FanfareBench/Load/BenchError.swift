import CommandSupport
import Net
import Primitives

/// Why a benchmark could not be run to its end.
enum BenchError: Error, CustomStringConvertible {
    /// This process may not open as many descriptors as the connections need.
    case descriptorLimit(needed: Int, allowed: Int, option: String)
    /// The machine has too few local ports for so many connections to one address.
    case portRange(connections: Int, ports: Int)
    /// All local ports are in use, most of them by connections that were closed just now.
    case noLocalPort
    /// The host's name leads nowhere.
    case resolution(ResolveError)
    /// No connection to the server at all.
    case unreachable(url: String, reason: String)
    /// The server did not let a connection in, or took it no further.
    case connectionRefused(index: Int, reason: String)
    /// A connection was lost after it had been acknowledged.
    case connectionLost(index: Int, reason: String)
    /// The HTTP API refused an event.
    case eventRefused(status: Int, answer: String)
    /// The connection to the HTTP API broke.
    case publisherLost(reason: String)
    /// Nothing moved for a while before all connections were in.
    case connectingStalled(connected: Int, of: Int, timeout: Duration)
    /// Nothing moved for a while before all connections had come and gone.
    case closingStalled(closed: Int, of: Int, timeout: Duration)
    /// The server did not let all connections in, and may not open descriptors for as many.
    case serverLimit(Int, reason: String)
    /// What is to be measured is the server's process, and it is not known.
    case noServerProcess
    /// The memory of the server's processes may not be read.
    case memoryUnreadable(ids: [Int32])
    /// Something of this machine failed: descriptors, memory, threads, certificates.
    case machine(String)

    /// A line for people, which says what to do.
    var description: String {
        switch self {
        case .descriptorLimit(let needed, let allowed, let option):
            """
            \(grouped(needed)) file descriptors are needed, but this process may open \
            \(grouped(allowed)) (its hard limit, `ulimit -Hn`). Raise it as root with \
            `ulimit -Hn \(needed)`, or give a smaller \(option).
            """
        case .portRange(let connections, let ports):
            """
            \(grouped(connections)) connections to one address need as many local ports, but the \
            range has \(grouped(ports)). Widen it: \
            `sysctl net.ipv4.ip_local_port_range="1024 65535"`.
            """
        case .noLocalPort:
            """
            No local port is left: closed connections keep theirs for a minute. Widen the range: \
            `sysctl net.ipv4.ip_local_port_range="1024 65535"`.
            """
        case .resolution(let error): "\(error)"
        case .unreachable(let url, let reason):
            "Cannot connect to \(url): \(reason)"
        case .connectionRefused(let index, let reason):
            "Connection \(grouped(index + 1)) was not let in: \(reason)"
        case .connectionLost(let index, let reason):
            "Connection \(grouped(index + 1)) was lost: \(reason)"
        case .eventRefused(let status, let answer):
            ErrorHint.append(
                ErrorHint.forEvent(status: status),
                to: "The HTTP API refused an event with status \(status): \(answer)"
            )
        case .publisherLost(let reason): "The connection to the HTTP API broke: \(reason)"
        case .connectingStalled(let connected, let all, let timeout):
            """
            No connection was let in for \(timeout.inSeconds) s: \(grouped(connected)) of \
            \(grouped(all)) are subscribed.
            """
        case .closingStalled(let closed, let all, let timeout):
            """
            No connection was let in or closed by the server for \(timeout.inSeconds) s: \
            \(grouped(closed)) of \(grouped(all)) that were begun are closed.
            """
        case .serverLimit(let limit, let reason):
            """
            \(reason) The server's process may open \(limit) file descriptors: raise its limit \
            with `ulimit -n` before you start it.
            """
        case .noServerProcess:
            """
            The server's process is not known: it is on another machine, or it belongs to another \
            user. Run this beside it as the same user or as root, and give it with --pid.
            """
        case .memoryUnreadable(let ids):
            """
            The memory of process \(ids.map(String.init).joined(separator: ", ")) may not be read \
            (/proc/PID/smaps_rollup): run this as the same user or as root.
            """
        case .machine(let reason): reason
        }
    }
}

/// What to do about a refusal, in a sentence; nil where there is nothing better than the refusal itself.
enum ErrorHint {
    /// A refusal with the hint behind it.
    static func append(_ hint: String?, to reason: String) -> String {
        guard let hint else { return reason }
        return reason + (reason.hasSuffix(".") ? " " : ". ") + hint
    }

    /// About a code of the Pusher protocol, in a `pusher:error` or a close frame.
    static func forCode(_ code: Int) -> String? {
        switch code {
        case 4000: "The app wants TLS: give a wss:// URL."
        case 4001: "Check --key."
        case 4003: "Enable the app in the server's configuration."
        case 4004: "Raise the app's limit of connections in the server's configuration."
        case 4005: "Check the path in --url: it stands in front of /app/KEY."
        case 4009: "Check --key and --secret, and what the app lets connections do."
        case 4100:
            "Raise the server's limits of connections and of queued bytes, or take a lower load."
        case 4200...4202: "Something stopped the server, or it found the connection dead."
        default: nil
        }
    }

    /// About the status of a refused opening handshake.
    static func forUpgrade(status: Int) -> String? {
        switch status {
        case 301, 302, 307, 308: "Give the URL that the server redirects to."
        case 400, 426: "Is it a WebSocket server? A proxy may have taken the upgrade away."
        case 401, 403: "Check --key, and what stands in front of the server."
        case 404: "Check the path in --url: it stands in front of /app/KEY."
        case 429, 503: "The server is at a limit: raise it, or take fewer connections."
        default: nil
        }
    }

    /// About the status of a refused subscription.
    static func forSubscription(status: Int) -> String? {
        switch status {
        case 401, 403: "Check --key and --secret."
        case 4100: "The channel or the server is at a limit: raise it, or take a lower load."
        default: nil
        }
    }

    /// About the status of a refused event.
    static func forEvent(status: Int) -> String? {
        switch status {
        case 401: "Check --key, --secret and --app-id, and the clocks of both machines."
        case 403: "Is the app enabled?"
        case 404: "Check --app-id, and the path in --url: it stands in front of /apps/ID/events."
        case 413: "Take a smaller --size, or raise the server's limit of an event's data."
        case 429: "Raise the app's limit of events, or take a lower --rate."
        default: nil
        }
    }
}
