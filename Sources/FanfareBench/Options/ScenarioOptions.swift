import ArgumentParser
import CommandSupport
import PusherProtocol

extension ArgumentHelp {
    static func count(_ text: String) -> Self { Self(text, valueName: "count") }
    static func bytes(_ text: String) -> Self { Self(text, valueName: "bytes") }
    static func mebibytes(_ text: String) -> Self { Self(text, valueName: "MiB") }
    static func seconds(_ text: String) -> Self { Self(text, valueName: "seconds") }
    static func rate(_ text: String) -> Self { Self(text, valueName: "per second") }
    static func name(_ text: String) -> Self { Self(text, valueName: "name") }
    static func url(_ text: String) -> Self { Self(text, valueName: "url") }
}

/// The options for the pace of events.
struct PaceOptions: ParsableArguments {
    @Option(
        help: .count("Maximum number of events in flight; 8 if neither this nor --rate is given.")
    )
    var window: Int?

    @Option(help: .rate("Events per second."))
    var rate: Double?

    func validate() throws {
        if window != nil, rate != nil {
            throw ValidationError("--window and --rate exclude each other")
        }
        if let rate { try check(rate, "--rate", in: sendableRates) }
        if let window { try check(window, "--window") }
    }

    var pace: Pace { rate.map { .rate($0) } ?? .window(window ?? 8) }
}

func check(_ count: Int, _ option: String, max: Int = 1_000_000) throws {
    guard (1...max).contains(count) else {
        throw ValidationError("\(option) must be between 1 and \(grouped(max))")
    }
}

func check(_ number: Double, _ option: String, in range: ClosedRange<Double>) throws {
    guard range.contains(number) else {
        throw ValidationError(
            "\(option) must be between \(range.lowerBound) and \(grouped(Int(range.upperBound)))"
        )
    }
}

/// The valid durations of a benchmark in seconds, up to a day.
let measurableSeconds = 0.1...86_400

/// The valid rates in events per second.
let sendableRates = 0.001...1_000_000

/// Rejects `--deflate`: the bytes in a slow reader's queue must be known.
func refuseDeflate(_ options: BenchOptions) throws {
    if options.deflate {
        throw ValidationError(
            "--deflate is not supported: the bytes in the queue of a slow reader would be unknown"
        )
    }
}

func checkSize(_ size: Int) throws {
    guard (EventMarker.length...1 << 20).contains(size) else {
        throw ValidationError(
            "--size must be between \(EventMarker.length) and \(grouped(1 << 20)) bytes"
        )
    }
}

/// Checks a channel name: public or private, or that of a presence channel.
func checkChannel(_ name: String, isPresence: Bool = false) throws {
    let kind: ChannelKind
    do throws(ChannelNameError) {
        kind = try ChannelName(name).kind
    } catch {
        throw ValidationError("--channel is not a valid channel name: \(error)")
    }
    guard kind.isPresence == isPresence, kind != .serverToUser else {
        throw ValidationError(
            isPresence
                ? "--channel must begin with presence-" : "--channel must be public or private"
        )
    }
}
