import FuzzTargets
import ServerFuzzTargets

private let target = FuzzTarget.chosen(among: FuzzTarget.server)

/// The entry point of libFuzzer; separate from the other targets, because these need the whole server.
@c(LLVMFuzzerTestOneInput)
public func run(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    target.runOrTrap(start, count)
    return 0
}
