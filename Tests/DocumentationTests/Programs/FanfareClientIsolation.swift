import FanfareClient

func fanfareClientIsolation() {
    actor Scores {
        private var latest: [String] = []

        func follow(_ channel: Channel) {
            channel.bind("score") { event in self.latest.append(event.data ?? "") }
        }
    }
}
