import HTTP1
import Net

/// Why a benchmark could not be run to its end.
enum BenchError: Error, CustomStringConvertible {
    /// This process may not open as many descriptors as the subscribers need.
    case descriptorLimit(subscribers: Int, needed: Int, allowed: Int)
    /// The machine has too few local ports for so many connections to one address.
    case portRange(subscribers: Int, ports: Int)
    /// The host's name leads nowhere.
    case resolution(ResolveError)
    /// No connection to the server at all.
    case unreachable(url: String, reason: String)
    /// The server did not let a subscriber in, or took it no further.
    case subscriberRefused(index: Int, reason: String)
    /// A subscriber lost its connection after it had been acknowledged.
    case subscriberLost(index: Int, reason: String)
    /// The HTTP API refused an event.
    case eventRefused(status: Int, answer: String)
    /// The connection to the HTTP API broke.
    case publisherLost(reason: String)
    /// Nothing moved for a while before all subscribers were acknowledged.
    case connectingStalled(acknowledged: Int, of: Int, patience: Duration)
    /// The server did not let all subscribers in, and may not open descriptors for as many.
    case serverLimit(Int, reason: String)
    /// Something of this machine failed: descriptors, memory, threads, certificates.
    case machine(String)

    /// A line for people.
    var description: String {
        switch self {
        case .descriptorLimit(let subscribers, let needed, let allowed):
            """
            \(grouped(subscribers)) subscribers need \(needed) file descriptors, but this process \
            may open \(allowed) (its hard limit, `ulimit -Hn`). Raise it as root with \
            `ulimit -Hn \(needed)`, or take fewer with --subscribers \(max(1, allowed - ConnectionBudget.spareDescriptors)).
            """
        case .portRange(let subscribers, let ports):
            """
            \(grouped(subscribers)) connections to one address need as many local ports, but the \
            range has \(grouped(ports)). Widen it: \
            `sysctl net.ipv4.ip_local_port_range="1024 65535"`.
            """
        case .resolution(let error): "\(error)"
        case .unreachable(let url, let reason):
            "Cannot connect to \(url): \(reason)"
        case .subscriberRefused(let index, let reason):
            "Subscriber \(index + 1) was not let in: \(reason)"
        case .subscriberLost(let index, let reason):
            "Subscriber \(index + 1) lost its connection: \(reason)"
        case .eventRefused(let status, let answer):
            "The HTTP API refused an event with status \(status): \(answer)"
        case .publisherLost(let reason): "The connection to the HTTP API broke: \(reason)"
        case .connectingStalled(let acknowledged, let all, let patience):
            """
            No subscriber was let in for \(patience.inSeconds) s: \(grouped(acknowledged)) of \
            \(grouped(all)) are subscribed.
            """
        case .serverLimit(let limit, let reason):
            """
            \(reason) The server's process may open \(limit) file descriptors: raise its limit \
            with `ulimit -n` before you start it.
            """
        case .machine(let reason): reason
        }
    }
}
