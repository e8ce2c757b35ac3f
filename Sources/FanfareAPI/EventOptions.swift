import PusherProtocol

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The members of an event in a request, except its channels.
struct EventOptions {
    var except: String?
    var info: Set<ChannelAttribute> = []
    /// The idempotency key; `nil` for a new one.
    var key: String?
    var ifPosition: ChannelState.Position?
    var isEphemeral = false
    var isDurable = false

    /// Writes the members that a single trigger and an event of a batch have in common.
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - text: The data, encrypted if the channel requires it.
    ///   - hasKey: Whether to write an idempotency key, which all attempts share.
    ///   - json: The object to write to.
    func write(name: String, text: String, hasKey: Bool, to json: inout JSONWriter) {
        json.name("name")
        json.string(name)
        json.name("data")
        json.string(text)
        if let except {
            json.name("socket_id")
            json.string(except)
        }
        if !info.isEmpty {
            json.name("info")
            json.string(ChannelAttribute.list(info))
        }
        if let ifPosition {
            json.name("if_position")
            json.beginObject()
            json.name("stream")
            json.string(ifPosition.stream)
            json.name("serial")
            json.verbatim(Array(String(ifPosition.serial).utf8))
            json.endObject()
        }
        if isEphemeral {
            json.name("ephemeral")
            json.boolean(true)
        }
        if isDurable {
            json.name("durable")
            json.boolean(true)
        }
        if hasKey {
            json.name("idempotency_key")
            json.string(key ?? UUID().uuidString.lowercased())
        }
    }
}
