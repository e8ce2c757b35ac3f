import Primitives

/// The bodies of `POST /apps/ID/events` and `POST /apps/ID/batch_events`.
public enum TriggerRequest {
    /// Parses one event for one or several channels.
    ///
    /// - Parameters:
    ///   - body: The content. If it is empty, the parameters of the query are used instead.
    ///   - parameters: The parameters of the query.
    ///   - limits: The app's limits.
    /// - Returns: The validated event.
    /// - Throws: 400 or 413 with a text that names the error.
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
        try readObject(body, limits) { name, value in fields.set(name, value, in: body) }
        return try fields.publication(in: body, limits: limits)
    }

    /// Parses a batch of events for one channel each; one invalid event refuses the whole batch.
    ///
    /// - Parameters:
    ///   - body: The content.
    ///   - limits: The app's limits.
    /// - Returns: The events in the given order.
    /// - Throws: 400 or 413 with a text that names the error and the event.
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
        // A condition of one event would affect the others, whose channels have other homes.
        guard publications.count == 1 || publications.allSatisfy({ $0.ifPosition == nil }) else {
            throw .badRequest("if_position needs a batch of a single event")
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
        try readObject(text, limits) { name, value in fields.set(name, value, in: text) }
        return try fields.publication(in: text, limits: limits)
    }

    /// Calls `member` for each member of `body`, which must be one object.
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
            // Valid JSON that is not an object gets its own message.
            guard (try? JSONScanner.scan(body, depthMax: limits.depthMax)) == nil else {
                throw .badRequest("The body must be a JSON object")
            }
            throw .badRequest("The body is not valid JSON: \(error)")
        }
    }

    /// Returns the parameters of a query as the JSON object of a body.
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
    /// Adds the index of the event, except to a text that tests of official libraries compare exactly.
    fileprivate func inBatch(at index: Int) -> APIError {
        guard self != .missing("channel") else { return self }
        let message = "\(message) (event \(index) of the batch)"
        return APIError(status: status, message: message, limit: limit)
    }
}
