import PusherProtocol

/// Takes what one connection brings to its client, as long as it is the client's connection.
final class ConnectionReceiver: TransportReceiver {
    private let client: FanfareClient
    /// Which of the client's connections this is, counted from one.
    private let number: Int

    init(_ client: FanfareClient, number: Int) {
        self.client = client
        self.number = number
    }

    func transportOpened() {}

    func transportReceived(_ text: Span<UInt8>) {
        do throws(MessageError) {
            let message = try ServerMessage.parse(text)
            client.take(from: number) { $0.receive(message, at: $1) }
        } catch {
            let fault = "a message of the broker is not understood: \(error)"
            client.take(from: number) { $0.receiveInvalid(fault, at: $1) }
        }
    }

    func transportHeard() {
        client.take(from: number) { session, now in
            session.heard(at: now)
            return []
        }
    }

    func transportClosed(_ closure: TransportClosure) {
        client.take(from: number) { $0.closed(closure, at: $1) }
    }
}
