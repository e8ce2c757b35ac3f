/// What happens in an app, for `fanfare trace`.
extension BrokerAPI {
    /// What a trace selects; what is `nil` selects all.
    package struct TraceSelection: Sendable {
        /// The channel's name.
        package var channel: String?
        /// The event's name.
        package var event: String?
        /// The user's identifier.
        package var user: String?
        /// The client's socket ID.
        package var socketID: String?

        /// Selects everything.
        package init() {}
    }

    /// Begins a trace, which ends 30 seconds after the last request for its records.
    ///
    /// Fanfare's extension of the Pusher HTTP API: other servers answer with status 404.
    ///
    /// - Parameter selection: What to record.
    /// - Returns: The identifier of the trace.
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

    /// Returns what has happened since the last call.
    ///
    /// - Parameter id: The trace.
    /// - Returns: JSON, `{"records":[…],"omitted":0}`.
    /// - Throws: A ``FanfareAPIError``; with status 404 when the trace has ended.
    package func traceRecords(_ id: String) async throws(FanfareAPIError) -> [UInt8] {
        // Not repeated: the records of an answer that was lost are gone.
        try await call("GET", "traces/\(BrokerAPI.segment(id))", retry: .mayDuplicate)
    }

    /// Ends a trace.
    ///
    /// - Parameter id: The trace.
    /// - Throws: A ``FanfareAPIError``; with status 404 when it has ended already.
    package func endTrace(_ id: String) async throws(FanfareAPIError) {
        _ = try await call("DELETE", "traces/\(BrokerAPI.segment(id))", retry: .idempotent)
    }
}
