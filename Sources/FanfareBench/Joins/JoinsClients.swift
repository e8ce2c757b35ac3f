import CommandSupport
import Net
import PusherProtocol

/// The users of a presence channel that grows: whom each of them knows.
final class JoinsClients: BenchClientDelegate {
    /// Who is connected.
    private(set) var ramp: ConnectionRamp
    /// How many have asked to join.
    private(set) var startedCount = 0
    /// How many have the list of members.
    private(set) var joinedCount = 0
    /// How many members all of them know, together: those of the lists, and those they were told of.
    private(set) var knownCount = 0
    /// How many notices there were.
    private(set) var noticeCount = 0
    /// The first thing that went wrong.
    private(set) var failure: BenchError?

    private let plan: JoinsPlan
    private let generator: LoadGenerator
    private let run: UInt32
    private var scanner: PresenceNoticeScanner
    private var users: [(client: BenchClient, socketID: SocketID)] = []
    /// How many members each client knows.
    private var known: [Int]

    /// A clients that nobody belongs to yet.
    ///
    /// - Parameters:
    ///   - plan: Says how many they are.
    ///   - generator: Makes the connections.
    init(plan: JoinsPlan, generator: LoadGenerator) {
        self.plan = plan
        self.generator = generator
        ramp = ConnectionRamp(count: plan.userCount)
        known = [Int](repeating: 0, count: plan.userCount)
        run = .random(in: 0..<1 << 24)
        scanner = PresenceNoticeScanner(run: run)
    }

    /// Lets more of them connect, and shows how many are.
    ///
    /// - Parameter now: The time.
    /// - Returns: Whether all are connected.
    /// - Throws: Why there can be no connection, or that none has been let in for too long.
    func connect(at now: MonotonicTime) throws(BenchError) -> Bool {
        try generator.connectClients(of: self, &ramp, at: now)
    }

    /// Lets the next one join.
    func joinNext() {
        let marker = EventMarker(run: run, sequence: UInt32(startedCount), sentAt: 0)
        let userID = String(decoding: marker.data(length: EventMarker.length), as: UTF8.self)
        let (client, socketID) = users[startedCount]
        startedCount += 1
        client.subscribe(
            generator.target.subscription(to: plan.channel, of: socketID, as: userID)
        )
    }

    /// Whether all who have asked to join are in, and everybody knows everybody.
    var isSettled: Bool { joinedCount == startedCount && knownCount == startedCount * startedCount }

    /// What is wrong, in a line; nil if everybody knows everybody, each once.
    var fault: String? {
        let missing = known.reduce(0) { $0 + max(0, plan.userCount - $1) }
        let surplus = known.reduce(0) { $0 + max(0, $1 - plan.userCount) }
        let faults = [
            missing > 0 ? "\(grouped(missing)) members never told of" : nil,
            surplus > 0 ? "\(grouped(surplus)) members told of twice" : nil,
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
