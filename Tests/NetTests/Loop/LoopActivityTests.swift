import Testing

@testable import Net

@Suite("Who runs a loop's resident") final class LoopActivityTests {
    private let activity = LoopActivity()

    /// The expectations take copies of what they look at, which an activity has none of.
    private func expect(
        _ isTrue: Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(isTrue, sourceLocation: sourceLocation)
    }

    @Test func aThreadThatRunsIsNotWokenAndLooksBeforeItSleeps() {
        expect(!activity.post())
        expect(activity.isPosted)
        expect(!activity.fallAsleep())
        expect(activity.rise())
        expect(!activity.isPosted)
        expect(activity.fallAsleep())
    }

    @Test func aThreadThatSleepsIsWokenOnce() {
        expect(activity.fallAsleep())
        expect(activity.isAsleep)
        expect(activity.post())
        expect(!activity.post())
        expect(activity.rise())
        expect(!activity.isPosted)
    }

    @Test func onlyOneAssistsAndOnlyASleeper() {
        expect(!activity.beginAssisting())
        expect(activity.fallAsleep())
        expect(activity.beginAssisting())
        expect(!activity.beginAssisting())
        // The thread itself has to wait as well.
        expect(!activity.rise())
        expect(!activity.endAssisting(needsThread: false))
        expect(activity.isAsleep)
        expect(activity.rise())
        expect(!activity.beginAssisting())
    }

    @Test func nobodyAssistsOneThatWasPostedTo() {
        expect(activity.fallAsleep())
        expect(activity.post())
        expect(!activity.beginAssisting())
    }

    @Test(arguments: [(false, false), (false, true), (true, false), (true, true)])
    func whoAssistsWakesForWhatIsLeft(needsThread: Bool, isPosted: Bool) {
        expect(activity.fallAsleep())
        expect(activity.beginAssisting())
        if isPosted { expect(!activity.post()) }
        expect(activity.endAssisting(needsThread: needsThread) == (needsThread || isPosted))
        expect(activity.isAsleep != (needsThread || isPosted))
        expect(activity.rise())
    }
}
