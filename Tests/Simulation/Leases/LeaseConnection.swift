import FanfareClient
import PusherProtocol

/// One connection of a simulated device: the client's transport over a pipe to the broker.
final class LeaseConnection: TransportConnection, @unchecked Sendable {
    // SAFETY: a simulation has one thread.
    private static var mask: UInt32 { 0x5A17_93C5 }

    let transport: SimulatedClient?
    let receiver: any TransportReceiver
    /// Changes what the client sends, to inject a fault.
    private let tamper: (ClientMessage) -> ClientMessage
    /// Whether nothing gets through in either direction.
    var isDead = false
    /// Whether the client has closed it, or knows that it has ended.
    private(set) var hasEnded = false

    init(
        _ transport: SimulatedClient?,
        _ receiver: any TransportReceiver,
        tamper: @escaping (ClientMessage) -> ClientMessage
    ) {
        self.transport = transport
        self.receiver = receiver
        self.tamper = tamper
    }

    func send(_ text: [UInt8]) {
        guard let message = try? ClientMessage.parse(text.span) else { return }
        var bytes: [UInt8] = []
        tamper(message).append(to: &bytes)
        transport?.send(String(decoding: bytes, as: UTF8.self), mask: Self.mask)
    }

    func close(code: UInt16, reason: String) {
        hasEnded = true
        guard let transport, !isDead else { return }
        transport.sendClose(mask: Self.mask)
        _ = transport.pipe.push(.max)
        transport.pipe.close()
    }

    // No simulated app has callbacks, for which alone a client stops reading.
    func pauseReading() {}
    func resumeReading() {}

    /// Ends the connection without a close frame.
    func cut() {
        transport?.pipe.close()
        end(.cut(reason: "cut"))
    }

    /// Transfers up to `count` bytes each way.
    ///
    /// - Parameters:
    ///   - count: The maximum number of bytes.
    ///   - deliver: Passes a message to the client.
    /// - Returns: The number of bytes transferred.
    /// - Throws: A message that is not valid.
    func transfer(
        _ count: Int,
        _ deliver: (ServerMessage, () -> Void) throws(Violation) -> Void
    ) throws(Violation) -> Int {
        guard !hasEnded, !isDead else { return 0 }
        guard let transport else {
            end(.unreachable(reason: "offline"))
            return 1
        }
        let pushed = transport.pipe.push(count)
        let (read, frames) = try transport.read(count)
        for frame in frames where !hasEnded {
            switch frame {
            case .message(let message):
                let text = transport.takeText()
                try deliver(message) { self.receiver.transportReceived(text.span) }
            case .ping(let payload):
                transport.answer(payload, mask: Self.mask)
                receiver.transportHeard()
            case .pong: receiver.transportHeard()
            case .close(let code):
                transport.pipe.close()
                end(.closeFrame(code: code.flatMap(UInt16.init(exactly:)), reason: ""))
            }
        }
        if transport.pipe.hasEnded, !hasEnded { cut() }
        return pushed + read
    }

    private func end(_ closure: TransportClosure) {
        guard !hasEnded else { return }
        hasEnded = true
        receiver.transportClosed(closure)
    }
}
