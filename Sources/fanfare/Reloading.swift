import FanfareServer
import Logging

/// Takes over the configuration of a running broker: all of it, or nothing.
struct Reloading {
    let server: BrokerServer
    /// The log, whose level is part of the configuration.
    let log: QueuedLog
    /// Watches these files of certificates and no others.
    let watch: (CertificateWatch) -> Void

    /// Reads the configuration and has the broker take it over, or logs every fault.
    ///
    /// - Parameter read: Reads the configuration.
    func run(_ read: () throws(ConfigurationError) -> Configuration) async {
        let logger = log.logger(label: "broker")
        do throws(ConfigurationError) {
            let configuration = try read()
            // Before the broker reads the certificates, so that no change of them is missed.
            let certificates = CertificateWatch(configuration.certificates)
            try await server.reload(configuration) {
                watch(certificates)
                log.level = configuration.log.level
            }
        } catch {
            for fault in error.faults { logger.error("the configuration has a fault: \(fault)") }
            logger.error("the configuration is not taken over: nothing has changed")
        }
    }
}
