import HTTP1
import Net
import PusherProtocol

/// The request that triggers an event, made once: only the marker in its data and the signature differ between events.
struct EventTemplate {
    private let subject: BenchSubject
    private let run: UInt32
    private let path: String
    private let body: [UInt8]
    /// Where the marker begins in the body, in bytes.
    private let offset: Int

    /// A template for events on one channel.
    ///
    /// - Parameters:
    ///   - channel: Public or private.
    ///   - dataLength: The length of each event's data in bytes, at least ``Marker/length``.
    ///   - run: The run in each marker; 24 bits.
    ///   - subject: The server.
    init(to channel: ChannelName, dataLength: Int, run: UInt32, of subject: BenchSubject) {
        self.subject = subject
        self.run = run
        path = "/apps/\(subject.appID)/events"
        let data = Marker(run: run, sequence: 0, sentAt: 0).data(length: dataLength)
        var json = JSONWriter()
        json.beginObject()
        json.name("name")
        json.string("bench")
        json.name("channel")
        json.string(channel.text)
        json.name("data")
        json.string(data.span)
        json.endObject()
        body = json.bytes
        // The data means itself in JSON and comes last: before its end are a quote and a brace.
        offset = body.count - 2 - data.count
    }

    /// Makes the request of an event.
    ///
    /// - Parameters:
    ///   - number: The event's number.
    ///   - due: The time from which its latency counts.
    ///   - timestamp: Seconds since 1970, for the signature.
    /// - Returns: The bytes to send.
    /// - Throws: Why an option does not fit into a request.
    func request(
        _ number: UInt32,
        due: MonotonicTime,
        timestamp: Int64
    ) throws(HTTPError) -> [UInt8] {
        var marker: [UInt8] = []
        marker.reserveCapacity(Marker.length)
        Marker(run: run, sequence: number, sentAt: due.nanoseconds).append(to: &marker)
        var body = body
        body.replaceSubrange(offset..<offset + Marker.length, with: marker)
        let query = RequestSignature.sign(
            method: "POST",
            path: path,
            body: body.span,
            key: subject.key,
            secret: subject.secret,
            timestamp: timestamp
        )
        let request = Request(
            .post,
            "\(subject.target.pathPrefix)\(path)?\(query)",
            host: subject.target.hostField,
            fields: [Field("Content-Type", "application/json")],
            body: body
        )
        return try request.encode()
    }
}
