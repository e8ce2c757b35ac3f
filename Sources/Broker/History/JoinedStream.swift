import Primitives
public import PusherProtocol

/// The stream of a client that may have nothing from before it joined, as part of its positions: `ID.SERIAL.MAC`.
///
/// The serial is that of the position which the client was given first. The MAC is the first eight bytes of HMAC-SHA256
/// under the app's secret, over channel, stream and serial, in hexadecimal digits: a client can neither move the
/// serial, nor use the ID of one channel on another, nor guess one.
public struct JoinedStream: Equatable, Sendable {
    /// The stream.
    public let stream: StreamID
    /// The serial from which on the client may resume.
    public let serial: UInt64

    /// Creates the stream of a client that joins at a position.
    public init(at position: ChannelPosition) {
        stream = position.stream
        serial = position.serial
    }

    /// Reads an ID, and verifies it.
    ///
    /// - Parameters:
    ///   - id: The ID that a client has sent.
    ///   - channel: The channel that the client subscribes to.
    ///   - secret: The app's secret.
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
        // The broker's own IDs are short; a longer one would never be resumed from.
        return StreamID("\(stream).\(serial).\(mac)") ?? stream
    }

    /// No other signature of an app is made of a text that begins like this.
    private func signedText(on channel: ChannelName) -> String {
        "position\n\(channel.text)\n\(stream)\n\(serial)"
    }
}

extension App {
    /// The form of a position that clients and backends are given.
    public func issuedPosition(
        _ position: ChannelPosition,
        on channel: ChannelName
    ) -> ChannelPosition {
        guard !recovery.rule(of: channel).replaysBeforeJoining else { return position }
        let id = JoinedStream(at: position).id(on: channel, secret: secret)
        return ChannelPosition(stream: id, serial: position.serial)
    }

    /// The position that a client or a backend means.
    ///
    /// - Parameters:
    ///   - position: The position in the form of ``issuedPosition(_:on:)``.
    ///   - channel: The channel.
    /// - Returns: The position; one of no stream if the client cannot have been given it.
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
