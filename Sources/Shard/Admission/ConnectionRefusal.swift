package import PusherProtocol

/// A refused connection: the code that it is closed with, and the reason.
package struct ConnectionRefusal: Error {
    package var code: PusherCode
    package var message: String
    /// The limit that is reached, if that is the reason.
    package var limit: Limit?

    /// Creates a refusal with the standard message of a code.
    package init(_ code: PusherCode) { self.init(code, code.message) }

    /// Creates a refusal with a message.
    package init(_ code: PusherCode, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Creates the refusal of a limit that is reached.
    package init(_ code: PusherCode, meeting limit: Limit) {
        self.code = code
        self.limit = limit
        message =
            switch limit {
            case .connectionsPerAddress: "Over capacity: too many connections from your address"
            case .newConnections: "Over capacity: too many new connections, try again later"
            case .newConnectionsPerAddress:
                "Over capacity: too many new connections from your address, try again later"
            case .queuedBytesTotal, .appQueuedBytes:
                "Over capacity: the queues of slow readers are full, try again later"
            default: code.message
            }
    }
}
