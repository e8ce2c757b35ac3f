package import Broker
package import Net
package import PusherProtocol

/// How the messages of one connection travel, such as a WebSocket.
///
/// A transport is the delegate of its stream. It decodes what arrives for ``Connection/receive(text:)`` and
/// ``Connection/receivePong(number:)``, encodes what is sent, and forwards the events of the stream.
package protocol Transport: AnyObject {
    /// The stream on which it writes, which groups of subscribers contain.
    var stream: Stream { get }

    /// The connection whose messages it carries, until the stream is closed.
    var connection: Connection? { get }

    /// The encoding that many subscribers share; `nil` for the frames of the envelopes themselves.
    var encoder: (any EnvelopeEncoder)? { get }

    /// Encodes a message to this client.
    func encode(_ message: ServerMessage) -> [UInt8]

    /// Writes bytes that this transport has encoded.
    func write(_ bytes: consuming [UInt8])

    /// Writes a message that other subscribers may get as well.
    func write(_ envelope: Envelope)

    /// Pings the client; its answer has the same number, if there is one.
    func ping(number: UInt16?)

    /// Frees what has arrived of an incomplete message, because nothing more is received.
    func stopReceiving()

    /// Says why the connection ends, as the transport's last message, and closes the stream.
    func close(_ code: PusherCode, reason: String)

    /// The serial of the first queued message of each channel that has one, and whether the serials are complete.
    func queuedSerials() -> (serials: [String: UInt64], areComplete: Bool)
}

/// Encodes a message once for all subscribers of a channel whose transports have this encoder.
package protocol EnvelopeEncoder: AnyObject {
    func encode(_ envelope: Envelope) -> [UInt8]
}
