import CommandSupport
import Net
import PusherProtocol

/// The users of a presence channel, and the number of members that each of them knows.
final class JoinsClients: BenchClientDelegate {
    /// Counts the open connections.
    private(set) var ramp: ConnectionRamp
    /// Users that have sent their subscription.
    private(set) var startedCount = 0
    /// Users that have received the list of members.
    private(set) var joinedCount = 0
    /// The sum over all users of the members that each knows, from the list and from notices.
    private(set) var knownCount = 0
    /// Received notices.
    private(set) var noticeCount = 0
    /// The first error.
    private(set) var failure: BenchError?

    private let plan: JoinsPlan
    private let generator: LoadGenerator
    private let run: UInt32
    private var scanner: PresenceNoticeScanner
    private var users: [(client: BenchClient, socketID: SocketID)] = []
    /// The members that each user knows, by the index of its client.
    private var known: [Int]

    /// Creates the users, without connections.
    ///
    /// - Parameters:
    ///   - plan: The number of users and the channel.
    ///   - generator: Opens the connections.
    init(plan: JoinsPlan, generator: LoadGenerator) {
        self.plan = plan
        self.generator = generator
        ramp = ConnectionRamp(count: plan.userCount)
        known = [Int](repeating: 0, count: plan.userCount)
        run = .random(in: 0..<1 << 24)
        scanner = PresenceNoticeScanner(run: run)
    }

    /// Opens more connections and shows the progress.
    ///
    /// - Parameter now: The time.
    /// - Returns: Whether all are connected.
    /// - Throws: When a connection cannot be opened, or none was acknowledged within the stall timeout.
    func connect(at now: MonotonicTime) throws(BenchError) -> Bool {
        try generator.connectClients(of: self, &ramp, at: now)
    }

    /// Subscribes the next user.
    func joinNext() {
        let marker = EventMarker(run: run, sequence: UInt32(startedCount), sentAt: 0)
        let userID = String(decoding: marker.data(length: EventMarker.length), as: UTF8.self)
        let (client, socketID) = users[startedCount]
        startedCount += 1
        client.subscribe(
            generator.target.subscription(to: plan.channel, of: socketID, as: userID)
        )
    }

    /// Whether all subscribed users know all subscribed users.
    var isComplete: Bool {
        joinedCount == startedCount && knownCount == startedCount * startedCount
    }

    /// The faults in one line; nil if each user was notified once of each member.
    var fault: String? {
        let missing = known.reduce(0) { $0 + max(0, plan.userCount - $1) }
        let repeated = known.reduce(0) { $0 + max(0, $1 - plan.userCount) }
        let faults = [
            missing > 0 ? "\(grouped(missing)) member notices missing" : nil,
            repeated > 0 ? "\(grouped(repeated)) member notices repeated" : nil,
        ].compactMap { $0 }
        return faults.isEmpty ? nil : faults.joined(separator: ", ")
    }

    // MARK: BenchClientDelegate

    func clientConnected(_ client: BenchClient, as socketID: SocketID) {
        users.append((client, socketID))
        ramp.markConnected(client)
    }

    func clientSubscribed(_ client: BenchClient, at now: MonotonicTime) {
        joinedCount += 1
        count(client.memberCount, by: client)
    }

    func clientReceived(_ text: Span<UInt8>, by client: BenchClient, at now: MonotonicTime) -> Bool
    {
        guard let notice = scanner.find(in: text), notice.isJoin else { return false }
        noticeCount += 1
        count(1, by: client)
        return true
    }

    private func count(_ members: Int, by client: BenchClient) {
        known[client.index] += members
        knownCount += members
    }

    func clientFailed(_ error: BenchError) {
        if failure == nil { failure = error }
    }
}
