/// State that few sessions need, allocated on first use.
///
/// All other sessions are only sixteen bytes larger.
struct SessionExtras {
    private struct Contents {
        var user: Member?
        var watchlist = Watchlist()
        var clientEventBucket = TokenBucket()
        var faults = FaultCount()
    }

    // At most one element each: an empty array allocates nothing.
    private var contents: [Contents] = []
    private var recoveries: [TokenRecovery] = []

    /// The user that the connection is signed in as, also on presence channels.
    var user: Member? {
        get { contents.first?.user }
        _modify {
            make()
            yield &contents[0].user
        }
    }

    /// The users that the connection watches.
    var watchlist: Watchlist {
        get { contents.first?.watchlist ?? Watchlist() }
        _modify {
            make()
            yield &contents[0].watchlist
        }
    }

    /// The remaining client events.
    var clientEventBucket: TokenBucket {
        get { contents.first?.clientEventBucket ?? TokenBucket() }
        _modify {
            make()
            yield &contents[0].clientEventBucket
        }
    }

    /// The numbers of faulty messages and of refused signatures.
    var faults: FaultCount {
        get { contents.first?.faults ?? FaultCount() }
        _modify {
            make()
            yield &contents[0].faults
        }
    }

    /// The recovery of a client with a session token; only if ``hasRecovery``.
    ///
    /// In place and not optional: a copy would retain everything that it refers to, for each ping and pong.
    var recovery: TokenRecovery {
        _read { yield recoveries[0] }
        _modify { yield &recoveries[0] }
    }

    /// Whether the client has a session token.
    var hasRecovery: Bool { !recoveries.isEmpty }

    mutating func use(_ recovery: TokenRecovery) { recoveries = [recovery] }

    private mutating func make() {
        if contents.isEmpty { contents.append(Contents()) }
    }
}
