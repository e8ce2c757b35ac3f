/// The timer of a client's connection, and its alarms.
extension Fanfare {
    func startTimer(_ time: Duration, _ state: inout ClientState) {
        state.timerNumber += 1
        state.timer?.cancel()
        let number = state.timerNumber
        let clock = options.clock
        state.timer = clock.startTimer(clock.now() + time) { self.timerFired(number) }
    }

    func startAlarm(_ alarm: SessionAlarm, _ time: Duration, _ state: inout ClientState) {
        state.alarms[alarm]?.task.cancel()
        let clock = options.clock
        state.alarmNumber += 1
        let number = state.alarmNumber
        let task = clock.startTimer(clock.now() + time) { self.alarmFired(alarm, number) }
        state.alarms[alarm] = ClientState.Alarm(number: number, task: task)
    }

    func alarmFired(_ alarm: SessionAlarm, _ number: Int) {
        act(if: { $0.alarms[alarm]?.number == number }) {
            $0.alarmFired(alarm, at: self.options.clock.now())
        }
    }

    func timerFired(_ number: Int) {
        act(if: { $0.timerNumber == number }) { $0.timerFired(at: self.options.clock.now()) }
    }
}
