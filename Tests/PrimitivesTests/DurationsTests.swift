import Testing

@testable import Primitives

@Suite("Durations as numbers") struct DurationsTests {
    private static let nanoseconds: [(Duration, Int64)] = [
        (.zero, 0), (.nanoseconds(1), 1), (.nanoseconds(-1), -1), (.seconds(3), 3_000_000_000),
        (Duration(secondsComponent: 0, attosecondsComponent: 1), 1),
        (Duration(secondsComponent: 1, attosecondsComponent: 1_000_000_001), 1_000_000_002),
        (Duration(secondsComponent: 0, attosecondsComponent: -1), 0),
        (Duration(secondsComponent: .max, attosecondsComponent: 0), .max),
        (Duration(secondsComponent: .min, attosecondsComponent: 0), .min),
    ]

    private static let milliseconds: [(Duration, Int64)] = [
        (.zero, 0), (.microseconds(1_999), 1), (.microseconds(-1_999), -1), (.seconds(3), 3_000),
        (.milliseconds(1), 1),
        (Duration(secondsComponent: .max, attosecondsComponent: 0), .max),
        (Duration(secondsComponent: .min, attosecondsComponent: 0), .min),
    ]

    @Test(arguments: nanoseconds)
    func nanosecondsAreRoundedUp(duration: Duration, number: Int64) {
        #expect(duration.wholeNanoseconds == number)
    }

    @Test(arguments: milliseconds)
    func millisecondsAreRoundedTowardsZero(duration: Duration, number: Int64) {
        #expect(duration.wholeMilliseconds == number)
    }

    @Test func secondsHaveAFraction() {
        #expect(Duration.milliseconds(1_250).inSeconds == 1.25)
        #expect(Duration.milliseconds(-1_250).inSeconds == -1.25)
    }
}
