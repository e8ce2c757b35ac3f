import Broker
import Cluster
import PusherProtocol
import Shard
import Synchronization
import Webhooks

/// What a node sends as the leader of partitions; the world decides when.
final class NodeDispatcher: QueuedEventSender {
    private let waiting = Mutex<[QueuedEvent]>([])

    func send(_ events: [QueuedEvent]) { waiting.withLock { $0 += events } }

    func withdraw(queues: Set<Int>) {
        waiting.withLock { $0.removeAll { queues.contains($0.id.queue) } }
    }

    var queuedEventCount: Int { waiting.withLock(\.count) }

    /// The next event, which stays until its answer has arrived.
    var next: QueuedEvent? { waiting.withLock(\.first) }

    func removeNext() { waiting.withLock { _ = $0.removeFirst() } }
}

/// The endpoint of all webhooks: what it knows of channels and members.
struct ClusterEndpoint {
    /// A channel, or a member of one.
    struct Subject: Hashable, CustomStringConvertible {
        let app: String
        let channel: String
        let user: String?

        init(_ address: ChannelAddress, _ user: UserID? = nil) {
            (app, channel, self.user) = (address.app.text, address.name.text, user?.text)
        }

        init(_ channel: ClusterScenarioChannel, _ user: String? = nil) {
            app = Scenario.appIDs[channel.app]
            (self.channel, self.user) = (channel.name, user)
        }

        var description: String { user.map { "\($0) on \(channel)" } ?? channel }
    }

    /// What is occupied, or present.
    private(set) var present: Set<Subject> = []
    private var received: Set<QueuedEvent.ID> = []

    /// Receives a webhook; one that was received before tells nothing new.
    ///
    /// - Returns: Whether it is the first with its ID.
    mutating func receive(_ event: QueuedEvent) throws -> Bool {
        guard received.insert(event.id).inserted, case .event(let content) = event.content else {
            return false
        }
        switch content {
        case .occupied: try begin(Subject(event.address))
        case .vacated: try end(Subject(event.address))
        case .memberAdded(let user): try begin(Subject(event.address, user))
        case .memberRemoved(let user): try end(Subject(event.address, user))
        default: break
        }
        return true
    }

    private mutating func begin(_ subject: Subject) throws {
        guard present.insert(subject).inserted else {
            throw Violation(.webhooks, "\(subject) is told to have begun twice")
        }
    }

    private mutating func end(_ subject: Subject) throws {
        guard present.remove(subject) != nil else {
            throw Violation(.webhooks, "\(subject) is told to have ended twice")
        }
    }
}

// What nodes tell the endpoint.
extension ClusterWorld {
    /// A node sends its next webhook; the answer may be lost, so it is sent again.
    ///
    /// - Returns: The number of answers.
    func sendWebhook(of node: ClusterNode, losesAnswer: Bool) throws -> Int {
        guard !node.isPaused, let event = node.dispatcher.next else { return 0 }
        // A lost server takes webhooks with it, and gives their IDs to others.
        if isLossless { reach(try endpoint.receive(event) ? .webhook : .repeatedWebhook) }
        guard !losesAnswer else { return 0 }
        node.dispatcher.removeNext()
        node.broker.settle(event.id)
        return 1
    }

    func sendSomeWebhook() throws {
        guard let node = anyNode() else { return }
        _ = try sendWebhook(of: node, losesAnswer: random.happens(30))
    }

    /// Waits until webhooks have told who is there: a departure waits for three seconds, and a new leader for its time.
    func checkWebhooks() throws {
        guard isLossless else { return }
        var seconds = 0
        while endpoint.present != subjects {
            guard seconds < 20 else {
                let wrong = endpoint.present.symmetricDifference(subjects).map(\.description)
                throw Violation(.webhooks, "not as they tell: \(wrong.sorted())")
            }
            try advance(1)
            seconds += 1
        }
    }

    /// What is occupied, and who is present.
    private var subjects: Set<ClusterEndpoint.Subject> {
        var subjects: Set<ClusterEndpoint.Subject> = []
        for (index, channel) in ClusterScenario.channels.enumerated() {
            for device in devices where device.isSubscribed(to: index) {
                subjects.insert(.init(channel))
                if channel.isPresence { subjects.insert(.init(channel, device.user)) }
            }
        }
        return subjects
    }
}
