import PusherProtocol

/// Why a client may not come in, or not stay: the code that it is closed with, and what is wrong.
struct ConnectionRefusal: Error {
    var code: PusherCode
    var message: String
    /// The limit that is met, if that is why.
    var limit: Limit?

    /// Excludes by a code that says enough.
    init(_ code: PusherCode) { self.init(code, code.message) }

    /// Excludes by a code, and says more.
    init(_ code: PusherCode, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Excludes because a limit is met.
    init(_ code: PusherCode, meeting limit: Limit) {
        self.code = code
        self.limit = limit
        message =
            switch limit {
            case .connectionsPerAddress: "Over capacity: your address has all its connections"
            case .newConnections: "Over capacity: too many connections at once, try again later"
            case .newConnectionsPerAddress:
                "Over capacity: too many connections of your address at once, try again later"
            case .queuedBytesTotal, .appQueuedBytes:
                "Over capacity: too much waits for clients that read slowly, try again later"
            default: code.message
            }
    }
}
