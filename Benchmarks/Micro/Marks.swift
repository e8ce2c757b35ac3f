import ArgumentParser
import Glibc
import PusherProtocol

/// The slowest of all messages of one length.
struct Marks: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Compare messages of one length, whose members have plain text or combining marks.",
        discussion: """
            Prints the CPU time of reading each message and of checking its signature, and the \\
            ratio to the median. Ends with 1 if a message takes more than 20 times the median.
            """
    )

    @Option(help: "The number of pairs of marks; each has four bytes.")
    var pairs = 60_000

    private static let ratioMax = 20.0

    func run() throws {
        let marks = "x" + String(repeating: "\u{301}\u{323}", count: pairs)
        let plain = String(repeating: "x", count: marks.utf8.count)
        let escaped = "x" + String(repeating: #"\u0301\u0323"#, count: pairs / 3)
        let rows = [("plain", plain), ("marks", marks), ("escaped marks", escaped)]
            .flatMap { kind, text in
                messages(text).map { ("\($0), \(kind)", milliseconds($1)) }
            }
        let median = rows.map(\.1).sorted()[rows.count / 2]
        print(padded("Message of \(marks.utf8.count) bytes", to: 40), "    ms   ÷ median")
        for (name, time) in rows {
            let figures = [time, time / median].map { padded(rounded($0), to: 8, left: true) }
            print(padded(name, to: 40) + figures.joined())
        }
        let ratio = (rows.map(\.1).max() ?? 0) / median
        guard ratio <= Self.ratioMax else { throw ExitCode(1) }
    }

    /// The messages, by the member that has the text.
    private func messages(_ text: String) -> [(String, [UInt8])] {
        func control(_ event: String, _ data: String) -> String {
            #"{"event":"pusher:\#(event)","data":{\#(data)}}"#
        }
        return [
            ("event", #"{"event":"\#(text)"}"#),
            ("client event", #"{"event":"client-\#(text)","channel":"private-a"}"#),
            ("channel", control("subscribe", #""channel":"\#(text)""#)),
            ("auth", control("subscribe", #""channel":"private-a","auth":"\#(text)""#)),
            (
                "channel_data",
                control(
                    "subscribe",
                    #""channel":"presence-a","auth":"k:s","channel_data":"\#(text)""#
                )
            ),
            ("user_data", control("signin", #""auth":"k:s","user_data":"\#(text)""#)),
            ("data", #"{"event":"client-e","channel":"private-a","data":"\#(text)"}"#),
            ("key", #"{"event":"client-e","channel":"private-a","key":"\#(text)"}"#),
        ].map { ($0, Array($1.utf8)) }
    }

    /// The least CPU time of some runs.
    private func milliseconds(_ message: [UInt8]) -> Double {
        let secret = AppSecret("secret")
        return (0..<3).map { _ in
            let start = now()
            if case .subscribe(let channel, let auth?, let data, _)? =
                try? ClientMessage.parse(message.span)
            {
                try? ChannelSignature.verify(
                    auth,
                    socketID: SocketID(1, 2),
                    channel: channel,
                    channelData: data
                ) { $0.utf8.elementsEqual("k".utf8) ? secret : nil }
            }
            return now() - start
        }.min() ?? 0
    }

    private func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) / 1e6
    }
}
