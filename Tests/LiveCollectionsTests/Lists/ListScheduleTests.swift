import ListSimulation
import Testing

@Suite("Random schedules of lists") struct ListScheduleTests {
    @Test("Delays, drops, repeats, cuts and refusals: all clients end with the writer's rows")
    func converge() {
        for seed in 0..<3000 {
            let schedule = ListSchedule(seed: UInt64(seed))
            if let fault = schedule.fault { Issue.record("seed \(seed): \(fault)") }
        }
    }

    @Test("A client or writer with a mistake is found out", arguments: DeliberateMistake.allCases)
    func noticesMistakes(mistake: DeliberateMistake) {
        let faults = (0..<300).count { ListSchedule(seed: $0, mistake: mistake).fault != nil }
        #expect(faults > 0)
    }
}
