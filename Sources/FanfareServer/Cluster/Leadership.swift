import Broker
import Net
import Primitives
import PusherProtocol
import RESP
import Redis
import Webhooks

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

// One node leads each partition: it executes the due work there, and sends the webhooks of all nodes.
extension ClusterHome {
    /// The time between two calls of `timers`.
    private static var timerInterval: Duration { .seconds(1) }
    /// The number of items, or of webhooks, that indicates that there are more.
    private static var portion: Int { 64 }
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
        guard partitions[index].leadership == nil else { return }
        partitions[index].leadership = Leadership()
        askTimers(of: index)
        startTimer(.timers, after: Self.timerInterval / ClusterSettings.portionCount)
    }

    private func loseLeadership(of index: Int) {
        guard partitions[index].leadership.take() != nil else { return }
        settings.webhooks?.withdraw(queues: [number(ofPartition: index)])
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

    /// The number of a partition among all.
    private func number(ofPartition index: Int) -> Int {
        index * context.shardCount + context.shard
    }

    // MARK: - Due work

    /// Executes the due work of the next portion of the partitions that this node leads.
    func executeTimers() {
        guard partitions.contains(where: { $0.leadership != nil }) else { return }
        let count = ClusterSettings.portionCount
        for index in stride(from: timerPortion, to: partitions.count, by: count) {
            askTimers(of: index)
        }
        timerPortion = (timerPortion + 1) % count
        startTimer(.timers, after: Self.timerInterval / count)
    }

    private func askTimers(of index: Int) {
        guard let leadership = partitions[index].leadership, !leadership.isAsking,
            settings.webhooks?.queuedEventCount ?? 0 < Self.waitingWebhooksMax
        else { return }
        let call = partitions[index].calls.timers(after: leadership.lastWebhook)
        let isSent = send(call, to: index, as: .timers(partition: index))
        partitions[index].leadership?.isAsking = isSent
    }

    func executed(_ reply: borrowing RESPView, in index: Int) {
        guard var leadership = partitions[index].leadership else { return }
        leadership.isAsking = false
        partitions[index].leadership = leadership
        guard let work = DueWork(reply) else {
            if RedisError(reply)?.code == .notLeader { loseLeadership(of: index) }
            return
        }
        if let former = leadership.droppedCount, work.droppedCount > former {
            counts.add(Int(work.droppedCount - former), to: \.droppedWebhooks)
        }
        leadership.droppedCount = work.droppedCount
        leadership.waitingCount = Int(work.waitingCount)
        let isForgotten =
            leadership.lastWebhook == nil && context.faults.contains(.forgetsWebhooks)
        leadership.lastWebhook = work.webhooks.last?.id ?? leadership.lastWebhook
        partitions[index].leadership = leadership
        if !isForgotten { send(work.webhooks, of: index) }
        let hasMore = work.items.count == Self.portion || work.webhooks.count == Self.portion
        guard !work.items.isEmpty else {
            if hasMore { askTimers(of: index) }
            return
        }
        // Trimming old messages can wait for the other work.
        let items = work.items.filter { !$0.isTrim } + work.items.filter(\.isTrim)
        partitions[index].leadership?.due = Queue(items)
        partitions[index].leadership?.hasMore = hasMore
        partitions[index].leadership?.isAsking = true
        duePartitions.append(index)
    }

    /// The maximum number of due items that a turn executes.
    static var executedMax: Int { 4 }

    /// Whether the next turn can execute due work.
    var hasDue: Bool {
        duePartitions.elements.contains { partitions[$0].store.takesPacedCalls }
    }

    /// Executes some of the due work; the partitions take turns.
    func executeDue() {
        var rest = Self.executedMax
        for _ in 0..<duePartitions.count where rest > 0 {
            let index = duePartitions.removeFirst()
            // Without a connection another node may lead it by now, and executes the same work.
            guard let item = partitions[index].leadership?.due.first else { continue }
            guard partitions[index].store.takesPacedCalls else {
                duePartitions.append(index)
                continue
            }
            rest -= 1
            partitions[index].leadership?.due.removeFirst()
            execute(item, in: index)
            guard let leadership = partitions[index].leadership else { continue }
            guard leadership.due.isEmpty else {
                duePartitions.append(index)
                continue
            }
            partitions[index].leadership?.isAsking = false
            if leadership.hasMore { askTimers(of: index) }
        }
    }

    private func execute(_ item: DueWork.Item, in index: Int) {
        let calls = partitions[index].calls
        let call =
            switch item {
            case .count(let channel): calls.announceCount(of: channel, rules(of: channel))
            case .offline(let user): calls.announceOffline(user)
            case .trim(let channel):
                calls.trim(
                    channel,
                    age: age(of: channel),
                    interval: Self.trimInterval,
                    rules(of: channel)
                )
            }
        send(call, to: index, as: .due)
    }

    private func age(of channel: ClusterChannel) -> Int {
        guard let address = address(of: channel),
            let rule = rule(of: address, context.registry.apps[address.app])
        else { return Self.defaultAge }
        return rule.ageMax * 1_000
    }

    /// Forwards webhooks of a partition, in their order.
    private func send(_ records: [WebhookRecord], of index: Int) {
        let queue = number(ofPartition: index)
        var events: [QueuedEvent] = []
        for record in records where partitions[index].settled[record.id] == nil {
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
