/// What has to happen in some runs, or they would prove little.
package enum Meeting: Hashable, CustomStringConvertible, Sendable {
    /// A connection was closed with a code.
    case close(Int)
    /// A connection was cut off without a close frame.
    case cut
    /// A request was answered with a status.
    case answer(Int)
    case grant, lateGrant, signIn, watchlist, opening, miss, count, arrival, departure
    /// A subscription was refused, with its type.
    case refusal(String)
    /// A presence channel was full.
    case fullChannel
    case event, clientEvent
    /// A client event came too soon after others.
    case tooSoon
    case settlement

    package var description: String {
        switch self {
        case .close(let code): "close \(code)"
        case .answer(let status): "answer \(status)"
        case .refusal(let type): "refusal \(type)"
        case .lateGrant: "grant behind an unsubscription"
        case .fullChannel: "full channel"
        case .tooSoon: "client event too soon"
        default: String(String(reflecting: self).split(separator: ".").last ?? "")
        }
    }
}
