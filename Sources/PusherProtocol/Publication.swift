/// An event on its way to one or several channels, checked against every limit.
///
/// Name and data stay the JSON strings that the publisher wrote: nothing is decoded and encoded again.
public struct Publication: Equatable, Sendable {
    /// The event's name as a JSON string, quotes included.
    public var nameToken: [UInt8]
    /// The data as a JSON string, quotes included; what was no string has been made one.
    public var dataToken: [UInt8]
    /// Where it goes, each channel once, in the order given.
    public var channels: [ChannelName]
    /// The connection to leave out.
    public var except: SocketID?
    /// What the publisher wants to know in return.
    public var info: InfoAttributes

    /// Takes the parts of a publication as they are, unchecked.
    ///
    /// - Parameters:
    ///   - nameToken: The event's name as a JSON string, quotes included.
    ///   - dataToken: The data as a JSON string, quotes included.
    ///   - channels: Where it goes.
    ///   - except: The connection to leave out.
    ///   - info: What the publisher wants to know.
    public init(
        nameToken: [UInt8],
        dataToken: [UInt8],
        channels: [ChannelName],
        except: SocketID? = nil,
        info: InfoAttributes = []
    ) {
        self.nameToken = nameToken
        self.dataToken = dataToken
        self.channels = channels
        self.except = except
        self.info = info
    }

    /// The event's name, decoded; for logs and consoles.
    public var name: String { EventEnvelope.decode(nameToken) }

    /// The data, decoded; for logs and consoles.
    public var data: String { EventEnvelope.decode(dataToken) }

    /// The length of the message to the subscribers of `channel`, in bytes.
    public func envelopeLength(for channel: ChannelName) -> Int {
        EventEnvelope.length(
            name: nameToken,
            channel: channel.text,
            data: dataToken,
            userID: nil
        )
    }

    /// Appends the message to the subscribers of `channel`.
    public func appendEnvelope(for channel: ChannelName, to bytes: inout [UInt8]) {
        EventEnvelope.append(
            name: nameToken,
            channel: channel.text,
            data: dataToken,
            userID: nil,
            to: &bytes
        )
    }
}
