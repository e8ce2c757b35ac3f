public import FanfareClient

/// The connection of a client, for views.
///
/// ```swift
/// @State private var connection = ConnectionModel(client)
/// // …
/// if !connection.isConnected { Text(connection.summary) }
/// ```
///
/// After a disconnect ``status`` becomes `.waiting` with the reason, then `.connecting` and `.connected` again.
@MainActor public final class ConnectionModel: ObservedModel {
    /// The client.
    public let client: Fanfare

    /// The state of the connection.
    @Observed public private(set) var status: ConnectionStatus

    /// The last error that left the connection open; `nil` before the first.
    @Observed public private(set) var lastError: FanfareError?

    private var tokens: [ListenerToken] = []

    /// Creates a model that follows the client until the model is released.
    public init(_ client: Fanfare) {
        self.client = client
        status = client.status
        super.init()
        tokens = [
            client.onStatusChange { [weak self] status in self?.status = status },
            client.onError { [weak self] error in self?.lastError = error },
        ]
    }

    deinit { for token in tokens { token.cancel() } }

    /// Whether the connection is established.
    public var isConnected: Bool { status.isConnected }

    /// The state in a few words, for developers; an app shows its own text.
    public var summary: String {
        switch status {
        case .disconnected: "disconnected"
        case .suspended: "suspended"
        case .connecting(let attempt):
            attempt == 1 ? "connecting" : "connecting, attempt \(attempt)"
        case .connected: "connected"
        case .waiting(_, let error): "reconnecting: \(error.message)"
        case .failed(let error): "\(error)"
        }
    }
}
