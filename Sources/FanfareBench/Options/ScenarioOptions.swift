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

/// An option of a scenario: its member of the JSON object, and the check of its value.
struct Parameter {
    var member: BenchReport.Member
    var check: () throws -> Void = {}

    static func value(_ name: String, _ value: BenchReport.Value) -> Self {
        Self(member: (name, value))
    }

    static func count(
        _ name: String,
        _ count: Int?,
        _ option: String,
        max: Int = 1_000_000
    ) -> Self {
        Self(member: (name, count.map { .integer($0) } ?? .null)) {
            if let count { try FanfareBench.check(count, option, max: max) }
        }
    }

    /// A number of MiB, of which the JSON object has the bytes.
    static func mebibytes(_ name: String, _ count: Int?, _ option: String, max: Int) -> Self {
        var parameter = Self.count(name, count, option, max: max)
        parameter.member.value = count.map { .integer($0 << 20) } ?? .null
        return parameter
    }

    /// A number of seconds, or a number per second.
    static func number(
        _ name: String,
        _ number: Double?,
        _ option: String,
        in range: ClosedRange<Double> = measurableSeconds
    ) -> Self {
        Self(member: (name, .number(number, places: 3))) {
            if let number { try FanfareBench.check(number, option, in: range) }
        }
    }

    /// The length of each event's data, in bytes.
    static func size(_ size: Int) -> Self {
        Self(member: ("size_bytes", .integer(size))) {
            guard !(EventMarker.length...1 << 20).contains(size) else { return }
            throw ValidationError(
                "--size must be between \(EventMarker.length) and \(grouped(1 << 20)) bytes"
            )
        }
    }

    static func recovery(_ recovery: Recovery) -> Self {
        .value("recovery", .text(recovery.rawValue))
    }

    /// A channel's name, public or private, or that of a presence channel, or the prefix of several names.
    static func channel(
        _ name: String,
        first: String? = nil,
        last: String? = nil,
        isPresence: Bool = false
    ) -> Self {
        Self(member: ("channel", .text(first ?? name))) {
            for name in [name, last ?? name] {
                let kind: ChannelKind
                do throws(ChannelNameError) {
                    kind = try ChannelName(name).kind
                } catch {
                    throw ValidationError("--channel is not a valid channel name: \(error)")
                }
                guard kind.isPresence == isPresence, kind != .serverToUser else {
                    let kinds = isPresence ? "begin with presence-" : "be public or private"
                    throw ValidationError("--channel must \(kinds)")
                }
            }
        }
    }
}

func check(_ count: Int, _ option: String, max: Int = 1_000_000) throws {
    guard (1...max).contains(count) else {
        throw ValidationError("\(option) must be between 1 and \(grouped(max))")
    }
}

/// Checks a number of seconds, or a number per second.
func check(
    _ number: Double,
    _ option: String,
    in range: ClosedRange<Double> = measurableSeconds
) throws {
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

/// The options for the pace of events.
struct PaceOptions: ParsableArguments {
    @Option(
        help: .count("Maximum number of events in flight; 8 if neither this nor --rate is given.")
    )
    var window: Int?

    @Option(help: .rate("Events per second.")) var rate: Double?

    func validate() throws {
        if window != nil, rate != nil {
            throw ValidationError("--window and --rate exclude each other")
        }
        for parameter in parameters { try parameter.check() }
    }

    var pace: Pace { rate.map { .rate($0) } ?? .window(window ?? 8) }

    /// One of the two members is null.
    var parameters: [Parameter] {
        [
            .count("window", rate == nil ? window ?? 8 : nil, "--window"),
            .number("rate_per_s", rate, "--rate", in: sendableRates),
        ]
    }
}
