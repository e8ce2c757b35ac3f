import FuzzTargets
import Glibc

/// The target that `--target=NAME` chose: libFuzzer leaves arguments alone that begin with two dashes.
private let target: FuzzTarget = {
    let option = "--target="
    let names = CommandLine.arguments.filter { $0.hasPrefix(option) }.map {
        $0.dropFirst(option.count)
    }
    if let target = FuzzTarget.all.first(where: { $0.name[...] == names.last }) { return target }
    print("Say which target: \(option) and one of \(FuzzTarget.all.map(\.name))")
    exit(64)
}()

/// What libFuzzer calls with each input.
@c(LLVMFuzzerTestOneInput)
public func run(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do throws(Finding) {
        try target.run(Array(UnsafeBufferPointer(start: start, count: count)))
    } catch {
        fatalError("\(error)")
    }
    return 0
}
