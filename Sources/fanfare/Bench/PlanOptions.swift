import ArgumentParser
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
        if let rate = try checkedRate(rate) { return .rate(rate) }
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

/// A rate that an option gave: more than 0 a second.
func checkedRate(_ rate: Double?) throws -> Double? {
    guard let rate else { return nil }
    guard (0.001...1_000_000).contains(rate) else {
        throw ValidationError("--rate must be between 0.001 and 1,000,000")
    }
    return rate
}

/// A length of data that an option gave.
func checkedSize(_ size: Int) throws -> Int {
    guard (Marker.length...1 << 20).contains(size) else {
        throw ValidationError(
            "--size must be between \(Marker.length) and \(grouped(1 << 20)) bytes"
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
