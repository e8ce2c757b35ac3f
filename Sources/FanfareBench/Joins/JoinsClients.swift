import CommandSupport
import Net
import PusherProtocol

/// The users of a presence channel, and the number of members that each of them knows.
final class JoinsClients: RampedClients {
    /// Counts the open connections.
    var ramp: ConnectionRamp
    /// Users that have sent their subscription.
    private(set) var startedCount = 0
    /// Users that have received the list of members.
    private(set) var joinedCount = 0
    /// The sum over all users of the members that each knows, from the list and from notices.
    private(set) var knownCount = 0
    /// Received notices.
    private(set) var noticeCount = 0
    let generator: LoadGenerator

    private let count: Int
    private let channel: ChannelName
    private let run = UInt32.random(in: 0..<1 << 24)
    private var scanner: PresenceNoticeScanner
    private var users: [(client: BenchClient, socketID: SocketID)] = []
    /// The members that each user knows, by the index of its client.
    private var known: [Int]

    /// Creates the users, without connections.
    init(count: Int, of channel: ChannelName, generator: LoadGenerator) {
        self.count = count
        self.channel = channel
        self.generator = generator
        ramp = ConnectionRamp(count: count)
        known = [Int](repeating: 0, count: count)
        scanner = PresenceNoticeScanner(run: run)
    }

    /// Subscribes the next user.
    func joinNext() {
        let userID = EventMarker(run: run, sequence: UInt32(startedCount), sentAt: 0).text
        let (client, socketID) = users[startedCount]
        startedCount += 1
        client.subscribe(generator.target.subscription(to: channel, of: socketID, as: userID))
    }

    /// Whether all subscribed users know all subscribed users.
    var isComplete: Bool {
        joinedCount == startedCount && knownCount == startedCount * startedCount
    }

    /// The faults in one line; nil if each user was notified once of each member.
    var fault: String? {
        let missing = known.reduce(0) { $0 + max(0, count - $1) }
        let repeated = known.reduce(0) { $0 + max(0, $1 - count) }
        return joined([
            missing > 0 ? "\(grouped(missing)) member notices missing" : nil,
            repeated > 0 ? "\(grouped(repeated)) member notices repeated" : nil,
        ])
    }

    // MARK: BenchClientDelegate

    func clientConnected(_ client: BenchClient, as socketID: SocketID) {
        users.append((client, socketID))
        ramp.markConnected(client)
    }

    func clientSubscribed(_ client: BenchClient, at now: MonotonicTime) {
        joinedCount += 1
        add(client.memberCount, by: client)
    }

    func clientReceived(_ text: Span<UInt8>, by client: BenchClient, at now: MonotonicTime) -> Bool
    {
        guard let notice = scanner.find(in: text), notice.isJoin else { return false }
        noticeCount += 1
        add(1, by: client)
        return true
    }

    private func add(_ members: Int, by client: BenchClient) {
        known[client.index] += members
        knownCount += members
    }
}
