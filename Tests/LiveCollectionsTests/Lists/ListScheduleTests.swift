import ListSimulation
import Testing

@Suite("Random schedules of lists", .serialized) struct ListScheduleTests {
    @Test("Delays, drops, repeats, cuts and refusals: all clients end with the writer's rows")
    func converge() async {
        for seed in 0..<2000 {
            // Yields: other tests run on the same threads.
            if seed % 20 == 0 { await Task.yield() }
            let schedule = ListSchedule(seed: UInt64(seed))
            if let fault = schedule.fault { Issue.record("seed \(seed): \(fault)") }
        }
    }

    @Test(
        "The simulation detects a client or writer with a deliberate mistake",
        arguments: DeliberateMistake.allCases
    )
    func noticesMistakes(mistake: DeliberateMistake) async {
        for seed in 0..<300 {
            if ListSchedule(seed: UInt64(seed), mistake: mistake).fault != nil { return }
            await Task.yield()
        }
        Issue.record("no schedule has noticed it")
    }
}
