import ArgumentParser
import FanfareClient
import Foundation

/// Where a demo in the terminal finds its backend and the broker.
struct DemoAddresses: ParsableArguments {
    @Option(help: "The URL of the demos.")
    var backend = "http://127.0.0.1:4000"

    @Option(help: "The URL of the broker.")
    var broker = "ws://127.0.0.1:6001"

    @Option(help: "The app's key.")
    var key = "app-key"

    /// Makes a client of the broker, which is not connected yet.
    ///
    /// - Returns: The client.
    /// - Throws: A `ValidationError` that says how to write the URL.
    func makeClient() throws -> FanfareClient {
        guard let endpoint = Endpoint(broker) else {
            throw ValidationError("--broker must be a URL such as ws://127.0.0.1:6001.")
        }
        return FanfareClient(key: key, endpoint: endpoint)
    }

    /// The URL of something that the demos have.
    ///
    /// - Parameter path: Its path, without a slash in front.
    /// - Returns: The URL.
    /// - Throws: A `ValidationError` that says how to write the URL.
    func url(below path: String) throws -> URL {
        guard let url = URL(string: backend), url.host() != nil else {
            throw ValidationError("--backend must be a URL such as http://127.0.0.1:4000.")
        }
        return url.appending(path: path)
    }
}
