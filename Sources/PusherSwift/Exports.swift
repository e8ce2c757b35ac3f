// `URLRequest`, `URLResponse` and `URLSession` are part of this interface. On Apple platforms they come with Foundation; an
// app that imports nothing but PusherSwift finds them elsewhere too.
#if canImport(FoundationNetworking)
    @_exported public import FoundationNetworking
#endif
