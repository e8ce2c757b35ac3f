/// The bodies of `POST /apps/ID/events` and `POST /apps/ID/batch_events`.
public enum TriggerRequest {
    /// Reads one event for one or several channels.
    ///
    /// - Parameters:
    ///   - body: The content. When it is empty, the parameters of the query take its place.
    ///   - parameters: The parameters of the query.
    ///   - limits: What the app allows.
    /// - Returns: The event, ready to be published.
    /// - Throws: 400 or 413 with a text that names what is wrong.
    public static func parse(
        _ body: Span<UInt8>,
        parameters: QueryParameters = QueryParameters(),
        limits: ProtocolLimits = ProtocolLimits()
    ) throws(APIError) -> Publication {
        guard !body.isEmpty else {
            let object = object(of: parameters)
            return try parse(object.span, limits: limits)
        }
        var fields = EventFields()
        try readObject(body, limits) { name, value in fields.take(name, value, in: body) }
        return try fields.publication(in: body, limits: limits)
    }

    /// Reads a batch of events for one channel each: all are good, or none is published.
    ///
    /// - Parameters:
    ///   - body: The content.
    ///   - limits: What the app allows.
    /// - Returns: The events in the order given.
    /// - Throws: 400 or 413 with a text that names what is wrong and in which event.
    public static func parseBatch(
        _ body: Span<UInt8>,
        limits: ProtocolLimits = ProtocolLimits()
    ) throws(APIError) -> [Publication] {
        var batch: JSONValue?
        try readObject(body, limits) { name, value in
            if name.equals("batch", in: body) { batch = value.kind == .null ? nil : value }
        }
        guard let batch else { throw .missing("batch") }
        guard batch.kind == .array else { throw .badRequest("batch must be an array of events") }
        let events = EventFields.elements(of: batch, in: body)
        guard !events.isEmpty else { throw .badRequest("The batch is empty") }
        guard events.count <= limits.eventsPerBatchMax else {
            throw .badRequest(
                "Batch too large (\(events.count) > \(limits.eventsPerBatchMax))",
                limit: .batchEvents
            )
        }
        var publications: [Publication] = []
        publications.reserveCapacity(events.count)
        for (index, event) in events.enumerated() {
            do throws(APIError) {
                publications.append(try publication(event, in: body, limits))
            } catch {
                throw error.inBatch(at: index)
            }
        }
        return publications
    }

    private static func publication(
        _ event: JSONValue,
        in body: Span<UInt8>,
        _ limits: ProtocolLimits
    ) throws(APIError) -> Publication {
        guard event.kind == .object else { throw .badRequest("An event must be a JSON object") }
        var fields = EventFields(isInBatch: true)
        let text = body.extracting(event.range)
        try readObject(text, limits) { name, value in fields.take(name, value, in: text) }
        return try fields.publication(in: text, limits: limits)
    }

    /// Calls `member` for each member of the object that the whole of `body` must be.
    private static func readObject(
        _ body: Span<UInt8>,
        _ limits: ProtocolLimits,
        member: (JSONValue, JSONValue) -> Void
    ) throws(APIError) {
        do throws(JSONError) {
            var scanner = JSONScanner(depthMax: limits.depthMax)
            try scanner.beginObject(in: body)
            while let name = try scanner.nextName(in: body) {
                member(name, try scanner.value(in: body))
            }
            try scanner.finish(in: body)
        } catch {
            // Perfectly good JSON of another kind deserves another answer.
            guard (try? JSONScanner.scan(body, depthMax: limits.depthMax)) == nil else {
                throw .badRequest("The body must be a JSON object")
            }
            throw .badRequest("The body is not valid JSON: \(error)")
        }
    }

    /// The parameters of a query as the object that a body would hold.
    private static func object(of parameters: QueryParameters) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        for name in ["name", "data", "channel", "socket_id", "info"] {
            guard let value = parameters[name] else { continue }
            json.name(name)
            json.string(value)
        }
        let channels = parameters.values(of: "channels")
        if !channels.isEmpty {
            json.name("channels")
            json.beginArray()
            for channel in channels { json.string(channel) }
            json.endArray()
        }
        json.endObject()
        return json.bytes
    }
}

extension APIError {
    /// Says which event of a batch is meant, except behind a text that official tests compare letter by letter.
    fileprivate func inBatch(at index: Int) -> APIError {
        guard self != .missing("channel") else { return self }
        let message = "\(message) (event \(index) of the batch)"
        return APIError(status: status, message: message, limit: limit)
    }
}
