import ArgumentParser
import CommandSupport
import PusherProtocol

/// The options for the pace of events.
struct PaceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Maximum number of events in flight; 8 if neither this nor --rate is given.",
            valueName: "count"
        )
    )
    var window: Int?

    @Option(help: ArgumentHelp("Events per second.", valueName: "per second"))
    var rate: Double?

    func validate() throws {
        _ = try pace()
    }

    /// The pace that the options describe.
    func pace() throws -> Pace {
        if window != nil, rate != nil {
            throw ValidationError("--window and --rate exclude each other")
        }
        if let rate { return .rate(try checked(rate, "--rate", in: sendableRates)) }
        return .window(try checked(window ?? 8, "--window"))
    }
}

/// Checks a count.
///
/// - Throws: `ValidationError` with the option's name and the limits.
func checked(_ count: Int, _ option: String, max: Int = 1_000_000) throws -> Int {
    guard (1...max).contains(count) else {
        throw ValidationError("\(option) must be between 1 and \(grouped(max))")
    }
    return count
}

/// Checks a number of seconds, or a number per second.
///
/// - Throws: `ValidationError` with the option's name and the limits.
func checked(_ number: Double, _ option: String, in range: ClosedRange<Double>) throws -> Double {
    guard range.contains(number) else {
        throw ValidationError(
            "\(option) must be between \(range.lowerBound) and \(grouped(Int(range.upperBound)))"
        )
    }
    return number
}

/// The valid durations of a benchmark in seconds, up to a day.
let measurableSeconds = 0.1...86_400

/// The valid rates in events per second.
let sendableRates = 0.001...1_000_000

/// Checks a number of MiB, and returns it in bytes.
func checkedMiB(_ count: Int, _ option: String, max: Int = 1 << 20) throws -> Int {
    try checked(count, option, max: max) << 20
}

/// Rejects `--deflate`: the bytes in a slow reader's queue must be known.
func refuseDeflate(_ options: BenchOptions) throws {
    if options.deflate {
        throw ValidationError(
            "--deflate is not supported: the bytes in the queue of a slow reader would be unknown"
        )
    }
}

/// Checks the length of an event's data.
func checkedSize(_ size: Int) throws -> Int {
    guard (EventMarker.length...1 << 20).contains(size) else {
        throw ValidationError(
            "--size must be between \(EventMarker.length) and \(grouped(1 << 20)) bytes"
        )
    }
    return size
}

/// Checks a channel name.
///
/// - Parameters:
///   - name: The option's value.
///   - isPresence: Whether a presence channel is required; otherwise a public or private one is.
/// - Returns: The channel name.
/// - Throws: `ValidationError` if the name is invalid or of another kind.
func checkedChannel(_ name: String, isPresence: Bool = false) throws -> ChannelName {
    let channel: ChannelName
    do throws(ChannelNameError) {
        channel = try ChannelName(name)
    } catch {
        throw ValidationError("--channel is not a valid channel name: \(error)")
    }
    guard channel.kind.isPresence == isPresence, channel.kind != .serverToUser else {
        throw ValidationError(
            isPresence
                ? "--channel must begin with presence-" : "--channel must be public or private"
        )
    }
    return channel
}
