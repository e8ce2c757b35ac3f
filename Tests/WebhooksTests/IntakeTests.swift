import PusherProtocol
import Testing

@testable import Webhooks

@Suite("Where reports wait") struct IntakeTests {
    private func report(_ number: Int) -> Report {
        Report(
            app: appID,
            event: .subscriptionCount(channel(), number),
            uptime: Int64(number)
        )
    }

    @Test func keepsTheOrder() {
        let intake = Intake(countMax: 3, lengthMax: 1_000)
        #expect(intake.post(report(1)))
        #expect(!intake.post(report(2)))
        #expect(intake.take().reports.map(\.uptime) == [1, 2])
        #expect(intake.take().reports.isEmpty)
        // Taken: somebody has to be told again.
        #expect(intake.post(report(3)))
    }

    @Test(arguments: 0...7)
    func theOldestMakeRoom(excess: Int) {
        let intake = Intake(countMax: 3, lengthMax: 1_000)
        for number in 0..<3 + excess { _ = intake.post(report(number)) }
        let (reports, dropped) = intake.take()
        #expect(reports.map(\.uptime) == (excess..<3 + excess).map(Int64.init))
        #expect(dropped == excess)
        _ = intake.post(report(9))
        #expect(intake.take().dropped == 0)
    }

    @Test func theOldestMakeRoomForLongEvents() {
        let intake = Intake(countMax: 10, lengthMax: 100)
        for (time, length) in [40, 40, 40, 999].enumerated() {
            let event = WebhookEvent.clientEvent(
                channel(),
                nameToken: Array(#""c""#.utf8),
                dataToken: [UInt8](repeating: 0x61, count: length),
                sender: SocketID(1, 2),
                userID: nil
            )
            _ = intake.post(Report(app: appID, event: event, uptime: Int64(time)))
            if time == 2 {
                let (reports, dropped) = intake.take()
                #expect(reports.map(\.uptime) == [1, 2])
                #expect(dropped == 1)
            }
        }
        #expect(intake.take().reports.map(\.uptime) == [3])
    }

    @Test func takesNothingInWhenClosed() {
        let intake = Intake(countMax: 3, lengthMax: 1_000)
        intake.close()
        #expect(!intake.post(report(1)))
        #expect(intake.take().reports.isEmpty)
    }
}
