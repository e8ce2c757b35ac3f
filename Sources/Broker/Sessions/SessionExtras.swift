/// What few sessions ever need, kept apart so that all others are eight bytes larger and no more.
///
/// A value like the session: it is made when something is first put into it.
struct SessionExtras {
    private struct Contents {
        var user: Member?
        var watchlist = Watchlist()
        var clientEventBucket = TokenBucket()
    }

    /// None or one: an empty array has no storage of its own.
    private var contents: [Contents] = []

    /// The user that the connection is signed in as, as whom it joins presence channels too.
    var user: Member? {
        get { contents.first?.user }
        _modify {
            make()
            yield &contents[0].user
        }
    }

    /// The users whose coming and going the connection is told.
    var watchlist: Watchlist {
        get { contents.first?.watchlist ?? Watchlist() }
        _modify {
            make()
            yield &contents[0].watchlist
        }
    }

    /// The client events that the connection may still send.
    var clientEventBucket: TokenBucket {
        get { contents.first?.clientEventBucket ?? TokenBucket() }
        _modify {
            make()
            yield &contents[0].clientEventBucket
        }
    }

    private mutating func make() {
        if contents.isEmpty { contents.append(Contents()) }
    }
}
