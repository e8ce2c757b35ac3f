import ConfigurationFuzzTarget
import FuzzTargets

/// The entry point of libFuzzer; separate from the other targets, because the configuration needs the whole server.
@c(LLVMFuzzerTestOneInput)
public func run(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do throws(Finding) {
        try FuzzTarget.configuration.run(Array(UnsafeBufferPointer(start: start, count: count)))
    } catch {
        fatalError("\(error)")
    }
    return 0
}
