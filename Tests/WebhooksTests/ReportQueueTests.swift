import PusherProtocol
import Testing

@testable import Webhooks

@Suite("The queue of reports") struct ReportQueueTests {
    private func report(_ number: Int) -> Report {
        Report(
            app: appID,
            event: .subscriptionCount(channel(), number),
            uptime: Int64(number)
        )
    }

    @Test func keepsTheOrder() {
        let queue = ReportQueue(countMax: 3, lengthMax: 1_000)
        #expect(queue.post(report(1)))
        #expect(!queue.post(report(2)))
        #expect(queue.take().reports.map(\.uptime) == [1, 2])
        #expect(queue.take().reports.isEmpty)
        // After ``take()``, the actor has to be woken again.
        #expect(queue.post(report(3)))
    }

    @Test(arguments: 0...7)
    func theOldestReportsAreDropped(excess: Int) {
        let queue = ReportQueue(countMax: 3, lengthMax: 1_000)
        for number in 0..<3 + excess { _ = queue.post(report(number)) }
        let (reports, dropped) = queue.take()
        #expect(reports.map(\.uptime) == (excess..<3 + excess).map(Int64.init))
        #expect(dropped == excess)
        _ = queue.post(report(9))
        #expect(queue.take().dropped == 0)
    }

    @Test func theOldestReportsAreDroppedForLongEvents() {
        let queue = ReportQueue(countMax: 10, lengthMax: 100)
        for (time, length) in [40, 40, 40, 999].enumerated() {
            let event = ReportedEvent.clientEvent(
                channel(),
                nameToken: Array(#""c""#.utf8),
                dataToken: [UInt8](repeating: 0x61, count: length),
                sender: SocketID(1, 2),
                userID: nil
            )
            _ = queue.post(Report(app: appID, event: event, uptime: Int64(time)))
            if time == 2 {
                let (reports, dropped) = queue.take()
                #expect(reports.map(\.uptime) == [1, 2])
                #expect(dropped == 1)
            }
        }
        #expect(queue.take().reports.map(\.uptime) == [3])
    }

    @Test func ignoresReportsWhenClosed() {
        let queue = ReportQueue(countMax: 3, lengthMax: 1_000)
        queue.close()
        #expect(!queue.post(report(1)))
        #expect(queue.take().reports.isEmpty)
    }
}
