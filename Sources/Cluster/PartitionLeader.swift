import Broker
import Net
import Primitives
import RESP
import Redis
import Shard

/// The state of a node as the leader of a partition.
struct Leadership {
    /// The last webhook that was read; `nil` before the first.
    var lastWebhook: StreamPosition?
    /// The number of webhooks that wait in the queue.
    var waitingCount = 0
    /// The number of webhooks dropped since the data exists; `nil` before the first answer.
    var droppedCount: Int64?
    /// Whether a call of `timers` is unanswered, or a part of its answer is not executed.
    var isAsking = false
    /// The due work of the last answer that is not executed.
    var due = Queue<DueWork.Item>()
    /// Whether Redis may have more than the last answer.
    var hasMore = false
}

/// The leaderships of this node: it executes the due work of the partitions that it leads, and sends the webhooks of
/// all nodes from there.
///
/// The scripts record the events that an app's endpoints request, once for all nodes. The leader's dispatcher sends
/// them, and Redis keeps them until then.
final class PartitionLeader {
    let partitions: Partitions
    let rules: SharedRules
    /// The state of this node's leadership of each partition; `nil` if it does not lead.
    private lazy var leaderships = [Leadership?](repeating: nil, count: partitions.count)
    /// Webhooks that are completed but still in the queues of partitions, and whether each was delivered.
    lazy var settled = [[StreamPosition: Bool]](repeating: [:], count: partitions.count)
    /// The partitions with due work that is not executed.
    private var due = Queue<Int>()
    /// The portion of the partitions whose due work is executed next.
    private var portion = 0
    /// When the leaderships are given up before the broker stops; `nil` before that.
    private var resignation: MonotonicTime?
    private lazy var asking = DelayedWork(on: context.reactor) { [unowned self] in executeTimers() }
    lazy var settling = DelayedWork(on: context.reactor) { [unowned self] in sendSettled() }

    init(_ partitions: Partitions, _ rules: SharedRules) {
        (self.partitions, self.rules) = (partitions, rules)
    }

    var context: ShardContext { partitions.context }
    private var settings: ClusterSettings { partitions.settings }

    /// Ends all work, with the shard.
    func removeAll() { due = Queue() }

    /// The number of partitions that the node leads, and that of the webhooks that wait there.
    var counts: (leaderships: Int, waitingWebhooks: Int) {
        let present = leaderships.compactMap(\.self)
        return (present.count, present.reduce(0) { $0 + $1.waitingCount })
    }

    /// The time between two calls of `timers`.
    private static var timerInterval: Duration { .seconds(1) }
    /// The number of items, or of webhooks, that indicates that there are more.
    private static var fullCount: Int { 64 }
    /// The maximum number of webhooks that wait for their dispatcher.
    private static var waitingWebhooksMax: Int { 4_096 }
    /// The time between two calls for an idle stream, in milliseconds.
    private static var trimInterval: Int { 60_000 }
    /// The age of messages to remove from a channel that no configured rule keeps, in milliseconds.
    private static var defaultAge: Int { 86_400_000 }
    /// The time within which requests in flight end, which another node would otherwise repeat.
    private static var resignationTime: Duration { .seconds(5) }

    // MARK: - Terms

    /// Whether the node takes or keeps leaderships.
    var mayLead: Bool { resignation.map { context.reactor.now < $0 } ?? true }

    /// Called with the leadership that a heartbeat has reported.
    func setLeads(_ leads: Bool, in index: Int) {
        guard leads, resignation == nil else { return loseLeadership(of: index) }
        guard leaderships[index] == nil else { return }
        leaderships[index] = Leadership()
        askTimers(of: index)
        asking.schedule(after: Self.timerInterval / ClusterSettings.portionCount)
    }

    private func loseLeadership(of index: Int) {
        guard leaderships[index].take() != nil else { return }
        settings.webhooks?.withdraw(queues: [partitions.number(of: index)])
    }

    /// Called when the connection to a store is lost; another node may lead before it is open again.
    func loseLeaderships(in store: ClusterStore) {
        for index in store.partitions { loseLeadership(of: index) }
    }

    /// Leaves the webhooks to another node, because this one is about to stop.
    func resign() {
        guard resignation == nil else { return }
        resignation = context.reactor.now.advanced(by: Self.resignationTime)
        for index in partitions.indices { loseLeadership(of: index) }
    }

    // MARK: - Due work

    /// Executes the due work of the next portion of the partitions that this node leads.
    private func executeTimers() {
        guard leaderships.contains(where: { $0 != nil }) else { return }
        let count = ClusterSettings.portionCount
        for index in stride(from: portion, to: partitions.count, by: count) {
            askTimers(of: index)
        }
        portion = (portion + 1) % count
        asking.schedule(after: Self.timerInterval / count)
    }

    private func askTimers(of index: Int) {
        guard let leadership = leaderships[index], !leadership.isAsking,
            settings.webhooks?.queuedEventCount ?? 0 < Self.waitingWebhooksMax
        else { return }
        let call = partitions[index].calls.timers(after: leadership.lastWebhook)
        let isSent = partitions.send(call, to: index) { [self] reply in executed(reply, in: index) }
        leaderships[index]?.isAsking = isSent
    }

    private func executed(_ reply: borrowing RESPView, in index: Int) {
        guard var leadership = leaderships[index] else { return }
        leadership.isAsking = false
        leaderships[index] = leadership
        guard let work = DueWork(reply) else {
            if RedisError(reply)?.code == .notLeader { loseLeadership(of: index) }
            return
        }
        if let former = leadership.droppedCount, work.droppedCount > former {
            partitions.counts.add(Int(work.droppedCount - former), to: \.droppedWebhooks)
        }
        leadership.droppedCount = work.droppedCount
        leadership.waitingCount = Int(work.waitingCount)
        leadership.lastWebhook = work.webhooks.last?.id ?? leadership.lastWebhook
        leaderships[index] = leadership
        send(work.webhooks, of: index)
        let hasMore = work.items.count == Self.fullCount || work.webhooks.count == Self.fullCount
        guard !work.items.isEmpty else {
            if hasMore { askTimers(of: index) }
            return
        }
        // Trimming old messages can wait for the other work.
        let items = work.items.filter { !$0.isTrim } + work.items.filter(\.isTrim)
        leaderships[index]?.due = Queue(items)
        leaderships[index]?.hasMore = hasMore
        leaderships[index]?.isAsking = true
        due.append(index)
    }

    /// The maximum number of due items that a turn executes.
    static var executedMax: Int { 4 }

    /// Whether the next turn can execute due work.
    var hasDue: Bool {
        due.elements.contains { partitions[$0].store.takesPacedCalls }
    }

    /// Executes some of the due work; the partitions take turns.
    func executeDue() {
        var rest = Self.executedMax
        for _ in 0..<due.count where rest > 0 {
            let index = due.removeFirst()
            // Without a connection another node may lead it by now, and executes the same work.
            guard let item = leaderships[index]?.due.first else { continue }
            guard partitions[index].store.takesPacedCalls else {
                due.append(index)
                continue
            }
            rest -= 1
            leaderships[index]?.due.removeFirst()
            execute(item, in: index)
            guard let leadership = leaderships[index] else { continue }
            guard leadership.due.isEmpty else {
                due.append(index)
                continue
            }
            leaderships[index]?.isAsking = false
            if leadership.hasMore { askTimers(of: index) }
        }
    }

    private func execute(_ item: DueWork.Item, in index: Int) {
        let calls = partitions[index].calls
        let call =
            switch item {
            case .count(let channel): calls.announceCount(of: channel, rules[channel])
            case .offline(let user): calls.announceOffline(user)
            case .trim(let channel):
                calls.trim(
                    channel,
                    age: age(of: channel),
                    interval: Self.trimInterval,
                    rules[channel]
                )
            }
        partitions.send(call, to: index, as: UnawaitedCall(isPaced: true))
    }

    private func age(of channel: ClusterChannel) -> Int {
        guard let address = rules.address(of: channel), let rule = rules.recovery(of: address)
        else {
            return Self.defaultAge
        }
        return rule.ageMax * 1_000
    }

    /// Forwards webhooks of a partition, in their order.
    private func send(_ records: [WebhookRecord], of index: Int) {
        let queue = partitions.number(of: index)
        var events: [QueuedEvent] = []
        for record in records where settled[index][record.id] == nil {
            if settings.webhooks != nil, let event = queuedEvent(record, in: queue) {
                events.append(event)
            } else {
                // No endpoint would get it.
                settle(record.id, of: index, isDelivered: true)
            }
        }
        settings.webhooks?.send(events)
    }
}
