import FanfareClient

func fanfareClientExecutors() {
    actor Scores {
        private var latest: [String] = []

        func follow(_ channel: Channel) {
            channel.bind("score", isolation: #isolation) { event in
                self.latest.append(event.data ?? "")
            }
        }
    }
}
