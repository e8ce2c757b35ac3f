import Broker
import HTTP1
import PusherProtocol

extension Route {
    /// The resources of the HTTP API, those that are requested most first.
    static let all = [
        Route(
            "/apps/{app}/events",
            .trigger,
            post: { (call, body) throws(APIError) in
                try EventsAPI(call.app, call.core, call.head)
                    .trigger(body, call.parameters, call.exchange)
            }
        ),
        Route(
            "/apps/{app}/batch_events",
            .trigger,
            post: { (call, body) throws(APIError) in
                try EventsAPI(call.app, call.core, call.head).triggerBatch(body, call.exchange)
            }
        ),
        Route(
            "/apps/{app}/channels",
            .query,
            showsData: { $1.asksForCache },
            get: { (call, _) throws(APIError) in
                try call.channels.list(call.parameters, call.exchange)
            }
        ),
        Route(
            "/apps/{app}/channels/{channel}",
            .query,
            showsData: { $1.asksForCache },
            get: { (call, _) throws(APIError) in
                try call.channels.describe(call.first, call.parameters, call.exchange)
            }
        ),
        Route(
            "/apps/{app}/channels/{channel}/users",
            .query,
            get: { (call, _) throws(APIError) in
                try call.channels.listUsers(call.first, call.parameters, call.exchange)
            }
        ),
        Route(
            "/apps/{app}/channels/{channel}/history",
            .query,
            showsData: { method, _ in method != .delete },
            get: { (call, _) throws(APIError) in
                try call.channels.listMessages(call.first, call.parameters, call.exchange)
            },
            delete: { (call, _) throws(APIError) in
                try call.channels.purge(call.first, call.parameters, call.exchange)
            }
        ),
        Route(
            "/apps/{app}/channels/{channel}/messages/{serial}/delivery",
            .query,
            get: { (call, _) throws(APIError) in
                try DeliveryAPI(call.app, call.core)
                    .explain(call.first, call.second, call.parameters, call.exchange)
            }
        ),
        Route(
            "/apps/{app}/users/{user}/terminate_connections",
            .termination,
            post: terminate
        ),
        // Of the official Python library, which omits the app: it is the one whose key has signed.
        Route("/users/{user}/terminate_connections", .termination, post: terminate),
        Route(
            "/apps/{app}/traces",
            .query,
            showsData: { _, _ in true },
            post: { (call, _) throws(APIError) in
                try TracesAPI(call.app, call.core, call.traces).begin(
                    call.parameters,
                    call.exchange
                )
            }
        ),
        Route(
            "/apps/{app}/traces/{trace}",
            .query,
            showsData: { method, _ in method != .delete },
            get: { (call, _) throws(APIError) in
                try TracesAPI(call.app, call.core, call.traces).read(call.first, call.exchange)
            },
            delete: { (call, _) throws(APIError) in
                try TracesAPI(call.app, call.core, call.traces).end(call.first, call.exchange)
            }
        ),
        // For load balancers: whether clients should be sent here.
        Route("/health", status: { $0.health }),
        // For supervisors: whether the process runs, which a restart could not mend otherwise.
        Route("/live", status: { _ in .status("ok") }),
    ]

    private static let terminate: Answer = { (call, _) throws(APIError) in
        try UsersAPI(call.app, call.core).terminate(call.first, call.parameters, call.exchange)
    }
}

extension QueryParameters {
    /// Whether channels are asked for with their cached events.
    fileprivate var asksForCache: Bool {
        self["info"]?.utf8.split(separator: UInt8(ascii: ","))
            .contains { $0.elementsEqual("cache".utf8) } == true
    }
}
