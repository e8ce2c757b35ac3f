import ArgumentParser
import CommandSupport
import PusherProtocol

/// How fast a benchmark sends its events.
struct PaceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "How many events may be on their way at once; 8 if neither this nor --rate is given.",
            valueName: "count"
        )
    )
    var window: Int?

    @Option(help: ArgumentHelp("How many events to trigger a second.", valueName: "per second"))
    var rate: Double?

    func validate() throws {
        _ = try pace()
    }

    /// The pace as the options describe it.
    func pace() throws -> Pace {
        if window != nil, rate != nil {
            throw ValidationError("--window and --rate exclude each other")
        }
        if let rate { return .rate(try checked(rate, "--rate", in: sendableRates)) }
        return .window(try checked(window ?? 8, "--window"))
    }
}

/// A count that an option gave: at least 1, and not beyond reason.
///
/// - Throws: `ValidationError` with the option's name.
func checked(_ count: Int, _ option: String, max: Int = 1_000_000) throws -> Int {
    guard (1...max).contains(count) else {
        throw ValidationError("\(option) must be between 1 and \(grouped(max))")
    }
    return count
}

/// A number that an option gave, of seconds or of something a second.
///
/// - Throws: `ValidationError` with the option's name and the least and the greatest number that make sense.
func checked(_ number: Double, _ option: String, in range: ClosedRange<Double>) throws -> Double {
    guard range.contains(number) else {
        throw ValidationError(
            "\(option) must be between \(range.lowerBound) and \(grouped(Int(range.upperBound)))"
        )
    }
    return number
}

/// How long a benchmark may take, in seconds: a day.
let measurableSeconds = 0.1...86_400

/// How many events a benchmark may send in a second.
let sendableRates = 0.001...1_000_000

/// A number of MiB that an option gave, in bytes.
func checkedMiB(_ count: Int, _ option: String, max: Int = 1 << 20) throws -> Int {
    try checked(count, option, max: max) << 20
}

/// Refuses compression where a queue is to fill by as much as is sent.
func refuseDeflate(_ options: BenchOptions) throws {
    if options.deflate {
        throw ValidationError("--deflate leaves open how much waits for a slow reader")
    }
}

/// A length of data that an option gave.
func checkedSize(_ size: Int) throws -> Int {
    guard (EventMarker.length...1 << 20).contains(size) else {
        throw ValidationError(
            "--size must be between \(EventMarker.length) and \(grouped(1 << 20)) bytes"
        )
    }
    return size
}

/// A channel's name that an option gave.
///
/// - Parameters:
///   - name: The name.
///   - isPresence: Whether it must be a presence channel's, or else a public or private one's.
/// - Returns: The name.
/// - Throws: `ValidationError` if it is another kind of name, or none.
func checkedChannel(_ name: String, isPresence: Bool = false) throws -> ChannelName {
    let channel: ChannelName
    do throws(ChannelNameError) {
        channel = try ChannelName(name)
    } catch {
        throw ValidationError("--channel is not a channel's name: \(error)")
    }
    guard channel.kind.isPresence == isPresence, channel.kind != .serverToUser else {
        throw ValidationError(
            isPresence
                ? "--channel must begin with presence-" : "--channel must be public or private"
        )
    }
    return channel
}
