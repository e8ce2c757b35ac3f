import CommandSupport
import Net

/// Subscribers of the residents' channels that do not read until the server should have closed them.
final class SoakSlowReaders: SoakWorkload {
    private let name: String
    private let clients: StalledClients
    private var isConnected = false
    private var isLeaving = false

    /// Creates the slow readers, without connections.
    init(name: String, _ clients: StalledClients) {
        self.name = name
        self.clients = clients
    }

    func connect(at now: MonotonicTime) throws(BenchError) -> Bool { true }

    func step(at now: MonotonicTime) throws(BenchError) -> MonotonicTime? {
        isLeaving = false
        if !isConnected { isConnected = try clients.connect(at: now) }
        try clients.step(at: now)
        return nil
    }

    func drain(at now: MonotonicTime, isLate: Bool) -> Bool {
        if !isLeaving { clients.disconnect() }
        isLeaving = true
        isConnected = false
        return clients.isDisconnected || isLate
    }

    var deliveryCounts: DeliveryCounts { DeliveryCounts() }

    var rows: [Row] {
        Row.disconnections(
            "\(name) that the server closed",
            jsonName(name),
            clients.disconnections,
            [("\(jsonName(name))_unclosed", .integer(clients.unclosedCount))]
        )
    }

    var fault: String? {
        guard clients.unclosedCount == 0 else {
            return "\(grouped(clients.unclosedCount)) of \(name) were not closed"
        }
        return clients.disconnections.fault
    }
}
