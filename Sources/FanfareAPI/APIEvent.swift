import PusherProtocol

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An event for one channel, to be sent in a batch.
public struct APIEvent: Equatable, Sendable {
    /// The event's name.
    public var name: String
    /// The channel that it goes to.
    public var channel: String
    /// The data as the subscribers receive it.
    public var text: String
    /// The id of a connection that is left out.
    public var except: String?
    /// What is to be told about the channel in return.
    public var info: Set<ChannelAttribute>

    /// Makes an event whose data is any text.
    ///
    /// - Parameters:
    ///   - name: The event's name, at most 200 characters.
    ///   - channel: The channel's name.
    ///   - text: The data exactly as the subscribers receive it, at most 10,240 bytes unless the broker allows more.
    ///   - except: The id of a connection that is left out.
    ///   - info: What is to be told about the channel in return.
    public init(
        _ name: String,
        on channel: String,
        text: String,
        except: String? = nil,
        info: Set<ChannelAttribute> = []
    ) {
        self.name = name
        self.channel = channel
        self.text = text
        self.except = except
        self.info = info
    }

    /// Makes an event whose data is a value, written as JSON.
    ///
    /// - Parameters:
    ///   - name: The event's name, at most 200 characters.
    ///   - channel: The channel's name.
    ///   - data: The value; its JSON may have 10,240 bytes unless the broker allows more.
    ///   - except: The id of a connection that is left out.
    ///   - info: What is to be told about the channel in return.
    /// - Throws: `.encoding` when the value cannot be written.
    public init(
        _ name: String,
        on channel: String,
        data: some Encodable,
        except: String? = nil,
        info: Set<ChannelAttribute> = []
    ) throws(FanfareAPIError) {
        self.init(
            name,
            on: channel,
            text: try APIEvent.json(data),
            except: except,
            info: info
        )
    }

    /// Writes a value as JSON.
    static func json(_ value: some Encodable) throws(FanfareAPIError) -> String {
        do {
            return String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
        } catch {
            throw .encoding("\(error)")
        }
    }

    /// Writes the members that a single trigger and an event of a batch have in common.
    static func write(
        name: String,
        text: String,
        except: String?,
        info: Set<ChannelAttribute>,
        to json: inout JSONWriter
    ) {
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
    }
}
