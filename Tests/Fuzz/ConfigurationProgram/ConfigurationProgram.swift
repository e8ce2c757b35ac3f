import ConfigurationFuzzTarget
import FuzzTargets

/// What libFuzzer calls with each input; apart from the other targets, since the configuration needs all of the server.
@c(LLVMFuzzerTestOneInput)
public func run(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do throws(Finding) {
        try FuzzTarget.configuration.run(Array(UnsafeBufferPointer(start: start, count: count)))
    } catch {
        fatalError("\(error)")
    }
    return 0
}
