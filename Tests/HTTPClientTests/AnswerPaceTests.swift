import HTTPClient
import Testing

@Suite("The pace of reads of an answer") struct AnswerPaceTests {
    @Test func anOrdinaryAnswerIsReadWithoutAPause() {
        var pace = AnswerPace()
        for _ in 0..<8 { #expect(pace.pauseAfterRead() == 0) }
        #expect(pace.pauseAfterRead() > 0)
    }

    @Test func pausesDoubleUpToTheLongest() {
        var pace = AnswerPace()
        for _ in 0..<8 { _ = pace.pauseAfterRead() }
        #expect((0..<7).map { _ in pace.pauseAfterRead() } == [10, 20, 40, 80, 160, 250, 250])
    }

    @Test func readsPerFourSecondsAreLimited() {
        var pace = AnswerPace()
        var (time, reads): (Int64, Int) = (0, 0)
        while time < 4_000 {
            time += pace.pauseAfterRead()
            reads += 1
        }
        #expect(reads < 35)
    }
}
