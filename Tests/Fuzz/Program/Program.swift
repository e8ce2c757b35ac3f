import FuzzTargets

private let target = FuzzTarget.chosen(among: FuzzTarget.all)

/// The entry point of libFuzzer.
@c(LLVMFuzzerTestOneInput)
public func run(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    target.runOrTrap(start, count)
    return 0
}
