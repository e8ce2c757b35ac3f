import CommandSupport
import FanfareClient
import FanfareEncryption
import FoundationEssentials
import Glibc
import Primitives
import PusherProtocol

/// Formats events as lines of output.
struct EventLine: Sendable {
    /// Whether the line is a JSON object.
    var isJSON: Bool
    /// Whether text is coloured.
    var isColored: Bool

    /// The line, without a line feed.
    ///
    ///     09:33:23 userslist addUser {"id":1}
    func text(_ event: ChannelEvent, at time: Date) -> String {
        isJSON ? json(event, at: time) : plain(event, at: time)
    }

    private func plain(_ event: ChannelEvent, at time: Date) -> String {
        // Control characters in events must not reach the terminal.
        var seconds = time_t(time.timeIntervalSince1970)
        var parts = tm()
        localtime_r(&seconds, &parts)
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec]
            .map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
        var words = [colored(clock, "2")]
        if let channel = event.channel { words.append(colored(channel.printable, "36")) }
        words.append(colored(event.name.printable, "1"))
        if let userID = event.userID { words.append(colored("(\(userID.printable))", "35")) }
        if let data = event.data { words.append(data.printable) }
        return words.joined(separator: " ")
    }

    private func json(_ event: ChannelEvent, at time: Date) -> String {
        var json = JSONWriter()
        json.beginObject()
        json.name("time")
        json.string(Timestamp(Int64(time.timeIntervalSince1970 * 1_000) * 1_000_000).text)
        for (name, value) in [
            ("channel", event.channel), ("event", event.name), ("data", event.data),
            ("user_id", event.userID),
        ] {
            guard let value else { continue }
            json.name(name)
            json.string(value)
        }
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    private func colored(_ text: String, _ code: String) -> String {
        isColored ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}

/// Decrypts the events of encrypted channels, if the master key is known.
struct EncryptedEvents: Sendable {
    private let key: MasterKey?

    /// Reads the key if a channel is encrypted; without a key the data is shown as it is.
    ///
    /// - Parameters:
    ///   - channels: The channels that are subscribed to.
    ///   - masterKey: The option `--master-key`, over `FANFARE_MASTER_KEY`.
    /// - Throws: `CommandError` for a key that is no key.
    init(channels: [String], masterKey: String?) throws(CommandError) {
        let key = variable("FANFARE_MASTER_KEY", over: masterKey, default: "")
        let isEncrypted = channels.contains(where: Self.isEncrypted)
        self.key = isEncrypted && !key.isEmpty ? try MasterKey(option: key) : nil
        if isEncrypted, self.key == nil {
            Console.printError(
                "the data of encrypted channels is shown encrypted: --master-key decrypts it"
            )
        }
    }

    /// The event with its text; one that cannot be decrypted stays as it is, which is reported.
    func opened(_ event: ChannelEvent) -> ChannelEvent {
        guard let key, let channel = event.channel, let data = event.data,
            Self.isEncrypted(channel), !event.name.hasPrefix("pusher:")
        else { return event }
        let secret = key.sharedSecret(of: channel)
        guard let text = try? SecretBoxDecrypter().open(data, sharedSecret: secret) else {
            Console.printError(
                "\(channel.printable) \(event.name.printable): not encrypted with this master key"
            )
            return event
        }
        return ChannelEvent(name: event.name, channel: channel, data: text, userID: event.userID)
    }

    private static func isEncrypted(_ channel: String) -> Bool {
        channel.hasPrefix("private-encrypted-")
    }
}

/// Formats changes of the connection's status.
enum StatusLine {
    /// The line for a status; `nil` if the user asked for it, or it is reported as an error.
    static func text(_ status: ConnectionStatus, endpoint: Endpoint) -> String? {
        switch status {
        case .connecting(attempt: 1): "connecting to \(endpoint) …"
        case .connecting(let attempt): "connecting to \(endpoint), attempt \(attempt) …"
        case .connected(let socketID): "connected as \(socketID)"
        case .waiting(let delay, let error):
            "\(sentence(error)); the next attempt is in \(seconds(delay)) s"
        case .disconnected, .suspended, .failed: nil
        }
    }

    /// The error's text without a full stop.
    private static func sentence(_ error: FanfareError) -> String {
        let text = "\(error)"
        return text.hasSuffix(".") ? String(text.dropLast()) : text
    }

    private static func seconds(_ delay: Duration) -> String {
        let tenths = delay.inSeconds * 10
        return "\(tenths.rounded() / 10)"
    }
}

/// Formats the protocol's own events, which are reported on standard error.
enum ProtocolLine {
    /// Whether an event is about the connection, and not from a publisher or another member.
    static func isConnectionEvent(_ event: ChannelEvent) -> Bool {
        [
            "pusher:subscription_succeeded", "pusher:subscription_error", "pusher:signin_success",
        ].contains(event.name)
    }

    /// The line for such an event; `nil` if it is reported as an error or not at all.
    static func text(_ event: ChannelEvent) -> String? {
        switch event.name {
        case "pusher:subscription_succeeded":
            guard let channel = event.channel?.printable else { return nil }
            guard let snapshot: Snapshot = try? event.decode() else {
                return "subscribed to \(channel)"
            }
            let ids = snapshot.presence.ids
            return
                "subscribed to \(channel), \(ids.count == 1 ? "1 member" : "\(ids.count) members"): "
                + ids.map(\.printable).joined(separator: ", ")
        case "pusher:signin_success":
            guard let success: Success = try? event.decode() else { return "signed in" }
            let user = ChannelEvent(name: event.name, channel: nil, data: success.user_data)
            guard let id = (try? user.decode(User.self))?.id else { return "signed in" }
            return "signed in as \(id.printable)"
        default: return nil
        }
    }

    /// The data of a presence channel's acknowledgement.
    private struct Snapshot: Decodable {
        struct Presence: Decodable { let ids: [String] }

        let presence: Presence
    }

    private struct Success: Decodable { let user_data: String }

    private struct User: Decodable { let id: String }
}
