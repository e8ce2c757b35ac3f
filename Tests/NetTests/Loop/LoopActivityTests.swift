import Testing

@testable import Net

@Suite("Loop activity") final class LoopActivityTests {
    private let activity = LoopActivity()

    /// A wrapper, because expectations copy their operands, and an activity is not copyable.
    private func expect(
        _ isTrue: Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(isTrue, sourceLocation: sourceLocation)
    }

    @Test func aRunningThreadIsNotWokenAndChecksBeforeItSleeps() {
        expect(!activity.post())
        expect(activity.isPosted)
        expect(!activity.beginSleep())
        expect(activity.endSleep())
        expect(!activity.isPosted)
        expect(activity.beginSleep())
    }

    @Test func aSleepingThreadIsWokenOnce() {
        expect(activity.beginSleep())
        expect(activity.isAsleep)
        expect(activity.post())
        expect(!activity.post())
        expect(activity.endSleep())
        expect(!activity.isPosted)
    }

    @Test func onlyOneThreadAssistsAndOnlyASleepingLoop() {
        expect(!activity.beginAssisting())
        expect(activity.beginSleep())
        expect(activity.beginAssisting())
        expect(!activity.beginAssisting())
        // The loop's thread has to wait too.
        expect(!activity.endSleep())
        expect(!activity.endAssisting(needsThread: false))
        expect(activity.isAsleep)
        expect(activity.endSleep())
        expect(!activity.beginAssisting())
    }

    @Test func noThreadAssistsAfterAPost() {
        expect(activity.beginSleep())
        expect(activity.post())
        expect(!activity.beginAssisting())
    }

    @Test(arguments: [(false, false), (false, true), (true, false), (true, true)])
    func whoAssistsWakesForWhatIsLeft(needsThread: Bool, isPosted: Bool) {
        expect(activity.beginSleep())
        expect(activity.beginAssisting())
        if isPosted { expect(!activity.post()) }
        expect(activity.endAssisting(needsThread: needsThread) == (needsThread || isPosted))
        expect(activity.isAsleep != (needsThread || isPosted))
        expect(activity.endSleep())
    }
}
