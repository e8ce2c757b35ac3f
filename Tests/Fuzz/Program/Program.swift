import FuzzTargets
import Glibc

/// The target that the first argument chose; libFuzzer leaves arguments alone that begin with two dashes.
nonisolated(unsafe) private var target: FuzzTarget?

/// What libFuzzer calls once, before the first input.
@c(LLVMFuzzerInitialize)
public func initialize(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>
) -> CInt {
    let option = "--target="
    for argument in CommandLine.arguments where argument.hasPrefix(option) {
        target = FuzzTarget(rawValue: String(argument.dropFirst(option.count)))
    }
    guard target != nil else {
        let names = FuzzTarget.allCases.map(\.rawValue).joined(separator: ", ")
        print("Say which target: \(option)NAME, of \(names).")
        exit(64)
    }
    return 0
}

/// What libFuzzer calls with each input.
@c(LLVMFuzzerTestOneInput)
public func run(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do throws(Finding) {
        try target?.run(Array(UnsafeBufferPointer(start: start, count: count)))
    } catch {
        fatalError("\(error)")
    }
    return 0
}
