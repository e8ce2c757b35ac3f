/// What clients and backends send: `#` is a number, `$` a text, `@` the ID of the stream that the client has seen last.
enum ShardMessages {
    /// Messages of clients.
    static let client = [
        ##"{"event":"pusher:subscribe","data":{"channel":"a","position":{}}}"##,
        ##"{"event":"pusher:subscribe","data":{"channel":"a","position":{"stream":"@","serial":#}}}"##,
        ##"{"event":"pusher:subscribe","data":{"channel":"a","position":{"stream":"#","serial":#}}}"##,
        ##"{"event":"pusher:subscribe","data":{"channel":"a","position":{"stream":"@","serial":1,"socket":"#.#"}}}"##,
        ##"{"event":"pusher:subscribe","data":{"channel":"a","position":{},"rewind":{"seconds":#}}}"##,
        ##"{"event":"pusher:subscribe","data":{"channel":"a","position":{},"rewind":{"count":#}}}"##,
        ##"{"event":"pusher:subscribe","data":{"channel":"a","position":#,"rewind":#}}"##,
        ##"{"event":"pusher:subscribe","data":{"channel":"$"}}"##,
        ##"{"event":"pusher:subscribe","data":{"channel":"private-a","auth":"$"}}"##,
        ##"{"event":"pusher:subscribe","data":{"channel":"presence-a","auth":"app-key:$","channel_data":"$"}}"##,
        ##"{"event":"pusher:subscribe","data":"$"}"##,
        ##"{"event":"pusher:unsubscribe","data":{"channel":"a"}}"##,
        ##"{"event":"pusher:unsubscribe","data":{"channel":"$"}}"##,
        ##"{"event":"pusher:signin","data":{"auth":"$","user_data":"$"}}"##,
        ##"{"event":"client-$","channel":"private-a","data":#,"key":"$"}"##,
        ##"{"event":"client-e","channel":"private-a","data":"$","serial":#}"##,
        ##"{"event":"pusher:ping","data":#,"serial":#}"##,
        ##"{"event":"pusher:pong","data":{"serial":#}}"##, ##"{"event":"$","data":"$"}"##, "#", "$",
    ]

    /// The channel and the data of signed subscriptions, and the data of sign-ins, for which there is no channel.
    static let signed: [(channel: String?, data: String?)] = [
        ("private-a", nil), ("presence-a", ##"{"user_id":"u"}"##),
        ("presence-a", ##"{"user_id":#}"##),
        ("presence-a", ##"{"user_id":"$","user_info":{"n":#}}"##), (nil, ##"{"id":"u"}"##),
        (nil, ##"{"id":"$","user_info":{"n":#},"watchlist":["u","$"]}"##), (nil, ##"{"id":#}"##),
    ]

    /// A request of a backend.
    struct Request {
        var method = "GET"
        var path: String
        var parameters: [(String, String)] = []
        var body = ""
    }

    /// The requests, in `/apps/1`.
    static let requests =
        ["after", "before", "since", "until", "limit", "order", "stream"].map {
            Request(path: "/channels/a/history", parameters: [($0, "#")])
        } + [
            Request(path: "/channels/a/history", parameters: [("after", "#"), ("before", "#")]),
            Request(path: "/channels/a/history", parameters: [("since", "#"), ("until", "#")]),
            Request(path: "/channels/a/history", parameters: [("stream", "@"), ("after", "#")]),
            Request(method: "DELETE", path: "/channels/a/history"),
            Request(path: "/channels", parameters: [("limit", "#"), ("cursor", "$")]),
            Request(path: "/channels", parameters: [("filter_by_prefix", "$"), ("info", "$")]),
            Request(path: "/channels/$"),
            Request(
                path: "/channels/a",
                parameters: [("info", "subscription_count,position,cache")]
            ),
            Request(path: "/channels/presence-a/users"),
            Request(path: "/channels/a/messages/#/delivery", parameters: [("socket_id", "#.#")]),
            Request(path: "/channels/a/messages/#/delivery", parameters: [("user_id", "$")]),
            Request(method: "POST", path: "/users/$/terminate_connections"),
            Request(
                method: "POST",
                path: "/events",
                body: ##"{"name":"e","channel":"a","data":"1"}"##
            ),
            Request(
                method: "POST",
                path: "/events",
                body:
                    ##"{"name":"$","channels":["a","$"],"data":"$","socket_id":"#.#","idempotency_key":"$"}"##
            ),
            Request(
                method: "POST",
                path: "/events",
                body:
                    ##"{"name":"e","channel":"a","data":#,"if_position":{"stream":"@","serial":#},"info":"position"}"##
            ),
            Request(
                method: "POST",
                path: "/batch_events",
                body:
                    ##"{"batch":[{"name":"e","channel":"cache-a","data":"#","durable":#},{"name":"#","channel":"a","data":"1","ephemeral":#}]}"##
            ),
            Request(method: "POST", path: "/traces", body: ##"{"seconds":#,"messages":#}"##),
            Request(
                method: "POST",
                path: "/traces",
                parameters: [("channel", "$"), ("socket_id", "#.#"), ("user_id", "$")]
            ),
            Request(path: "/traces/#"),
        ]
}
