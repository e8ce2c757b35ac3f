import FuzzTargets
import Glibc

/// The target given by `--target=NAME`: libFuzzer ignores arguments that begin with two dashes.
private let target: FuzzTarget = {
    let option = "--target="
    let names = CommandLine.arguments.filter { $0.hasPrefix(option) }.map {
        $0.dropFirst(option.count)
    }
    if let target = FuzzTarget.all.first(where: { $0.name[...] == names.last }) { return target }
    print("Set the target: \(option) and one of \(FuzzTarget.all.map(\.name))")
    exit(64)
}()

/// The entry point of libFuzzer.
@c(LLVMFuzzerTestOneInput)
public func run(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do throws(Finding) {
        try target.run(Array(UnsafeBufferPointer(start: start, count: count)))
    } catch {
        fatalError("\(error)")
    }
    return 0
}
