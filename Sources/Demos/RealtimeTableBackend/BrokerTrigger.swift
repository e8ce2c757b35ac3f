import RealtimeTable
struct BrokerTrigger: EventTrigger {
    init(url: String, app: AppCredentials) throws {}
    func trigger(_ event: String, data: String, on channel: String) async throws {}
}
