import Primitives
public import PusherProtocol

/// The stream of a client that may get nothing from before it joined, as part of its positions: `ID.SERIAL.MAC`.
///
/// The serial is that of the first position given to the client. The MAC is the first eight bytes of HMAC-SHA256 under
/// the app's secret, over channel, stream and serial, in hexadecimal digits. So a client cannot change the serial, use
/// the ID of one channel on another, or guess an ID.
public struct JoinedStream: Equatable, Sendable {
    /// The stream.
    public let stream: StreamID
    /// The lowest serial from which the client may resume.
    public let serial: UInt64

    /// Creates the stream of a client that joins at a position.
    public init(at position: ChannelPosition) {
        stream = position.stream
        serial = position.serial
    }

    /// Reads an ID that a client has sent for this channel, and verifies its MAC.
    public init?(_ id: StreamID, on channel: ChannelName, secret: AppSecret) {
        let parts = id.text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count >= 3, let serial = UInt64(safe: Array(parts[parts.count - 2].utf8).span),
            let stream = StreamID(parts.dropLast(2).joined(separator: "."))
        else { return nil }
        self.init(at: ChannelPosition(stream: stream, serial: serial))
        let mac = String(parts[parts.count - 1])
        guard secret.verify(shortSignature: mac, of: signedText(on: channel)) else { return nil }
    }

    /// Returns the ID that a client is given.
    public func id(on channel: ChannelName, secret: AppSecret) -> StreamID {
        let mac = secret.shortSignature(of: signedText(on: channel))
        // The broker's own IDs are short; a longer one could never be resumed.
        return StreamID("\(stream).\(serial).\(mac)") ?? stream
    }

    /// No other signature of an app covers a text with this beginning.
    private func signedText(on channel: ChannelName) -> String {
        "position\n\(channel.text)\n\(stream)\n\(serial)"
    }
}

extension App {
    /// The form of a position that the broker gives to clients and backends.
    public func issuedPosition(
        _ position: ChannelPosition,
        on channel: ChannelName
    ) -> ChannelPosition {
        guard !recovery.rule(of: channel).replaysBeforeJoining else { return position }
        let id = JoinedStream(at: position).id(on: channel, secret: secret)
        return ChannelPosition(stream: id, serial: position.serial)
    }

    /// The position that a client or backend has sent in the form of ``issuedPosition(_:on:)``.
    ///
    /// A position of no stream if the broker cannot have issued it to the client.
    public func position(
        issuedAs position: ChannelPosition,
        on channel: ChannelName
    ) -> ChannelPosition {
        guard !recovery.rule(of: channel).replaysBeforeJoining else { return position }
        guard let joined = JoinedStream(position.stream, on: channel, secret: secret),
            position.serial >= joined.serial
        else { return ChannelPosition(stream: StreamID(bits: 0), serial: 0) }
        return ChannelPosition(stream: joined.stream, serial: position.serial)
    }
}
