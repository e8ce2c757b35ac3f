/// The requests of `fanfare trace`: the broker records what happens in an app.
extension BrokerAPI {
    /// The selection of a trace; `nil` selects all.
    package struct TraceSelection: Sendable {
        /// The channel's name.
        package var channel: String?
        /// The event's name.
        package var event: String?
        /// The user's identifier.
        package var user: String?
        /// The client's socket ID.
        package var socketID: String?

        /// Creates a selection of everything.
        package init() {}
    }

    /// Begins a trace, which ends 30 seconds after the last request for its records.
    ///
    /// An extension of the Pusher HTTP API by Fanfare: other servers answer with status 404.
    ///
    /// - Parameter selection: The records to collect.
    /// - Returns: The ID of the trace.
    /// - Throws: A ``FanfareAPIError``.
    package func beginTrace(
        _ selection: TraceSelection
    ) async throws(FanfareAPIError) -> String {
        struct Answer: Decodable { var id: String }
        let parameters = [
            ("channel", selection.channel), ("event", selection.event),
            ("user_id", selection.user), ("socket_id", selection.socketID),
        ].compactMap { name, value in value.map { (name: name, value: $0) } }
        let response = try await call(
            "POST",
            "traces",
            parameters: parameters,
            retry: .mayDuplicate
        )
        return try APIListResponse.decode(Answer.self, from: response).id
    }

    /// Returns the records since the last call.
    ///
    /// - Parameter id: The ID of the trace.
    /// - Returns: JSON, `{"records":[…],"omitted":0}`.
    /// - Throws: A ``FanfareAPIError``; with status 404 when the trace has ended.
    package func traceRecords(_ id: String) async throws(FanfareAPIError) -> [UInt8] {
        // Not repeated: if the answer was lost, the broker has already dropped its records.
        try await call("GET", "traces/\(BrokerAPI.segment(id))", retry: .mayDuplicate)
    }

    /// Ends a trace; throws a ``FanfareAPIError``, with status 404 when it has already ended.
    package func endTrace(_ id: String) async throws(FanfareAPIError) {
        _ = try await call("DELETE", "traces/\(BrokerAPI.segment(id))", retry: .idempotent)
    }
}
