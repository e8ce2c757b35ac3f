import FanfareClient
import Primitives

/// What a change of the connection reads like.
enum StatusLine {
    /// The line for a status; `nil` for what the user has asked for, or hears as an error.
    static func text(_ status: ConnectionStatus, endpoint: Endpoint) -> String? {
        switch status {
        case .connecting(attempt: 1): "connecting to \(endpoint) …"
        case .connecting(let attempt): "connecting to \(endpoint), attempt \(attempt) …"
        case .connected(let socketID): "connected as \(socketID)"
        case .waiting(let delay, let error):
            "\(sentence(error)); the next attempt is in \(seconds(delay)) s"
        case .disconnected, .failed: nil
        }
    }

    /// The error without the full stop that some of them end with.
    private static func sentence(_ error: FanfareError) -> String {
        let text = "\(error)"
        return text.hasSuffix(".") ? String(text.dropLast()) : text
    }

    private static func seconds(_ delay: Duration) -> String {
        let tenths = delay.inSeconds * 10
        return "\(tenths.rounded() / 10)"
    }
}
