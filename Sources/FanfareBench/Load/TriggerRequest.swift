import HTTP1
import Net
import PusherProtocol

/// An event to trigger.
struct TriggeredEvent: Equatable {
    /// The sequence number in its marker.
    var number: UInt32
    /// The channel's index.
    var channel = 0
    /// When the event is due; its latency counts from then.
    var due: MonotonicTime
}

/// Builds the signed HTTP requests that trigger a run's events.
///
/// Events differ only in their channel and marker; the filler behind the marker is made once.
struct TriggerRequestBuilder {
    private let channels: [ChannelName]
    private let run: UInt32
    private let target: TargetServer
    private let path: String
    /// The data behind the marker, and the end of the JSON object.
    private let bodyEnd: ArraySlice<UInt8>

    /// Creates a builder for one run, with data of at least ``EventMarker/length`` bytes.
    init(channels: [ChannelName], dataLength: Int, run: UInt32, target: TargetServer) {
        self.channels = channels
        self.run = run
        self.target = target
        path = "/apps/\(target.appID)/events"
        let data = EventMarker(run: run, sequence: 0, sentAt: 0).data(length: dataLength)
        bodyEnd = (data + Array(#""}"#.utf8))[EventMarker.length...]
    }

    /// Builds the request of an event, signed with a time in seconds since 1970.
    func request(_ event: TriggeredEvent, timestamp: Int64) throws(HTTPError) -> [UInt8] {
        let body = body(of: event)
        let query = RequestSignature.sign(
            method: "POST",
            path: path,
            body: body.span,
            key: target.key,
            secret: target.secret,
            timestamp: timestamp
        )
        let request = Request(
            .post,
            "\(target.url.pathPrefix)\(path)?\(query)",
            host: target.url.hostField,
            fields: [Field("Content-Type", "application/json")],
            body: body
        )
        return try request.encode()
    }

    private func body(of event: TriggeredEvent) -> [UInt8] {
        // Neither a channel's name nor the data has a character that JSON escapes.
        var body = Array(#"{"name":"bench","channel":""#.utf8)
        let channel = channels[event.channel].text
        body.reserveCapacity(128 + channel.utf8.count + bodyEnd.count)
        body.append(contentsOf: channel.utf8)
        body.append(contentsOf: #"","data":""#.utf8)
        EventMarker(run: run, sequence: event.number, sentAt: event.due.nanoseconds)
            .append(to: &body)
        body.append(contentsOf: bodyEnd)
        return body
    }
}
