import RESP
import Redis
import RedisModel
import TestRedis
import Testing

@Suite("Lua in the model of Redis") struct ModelLuaTests {
    private static let start = "#!lua\nlocal call, key = redis.call, KEYS[1] "
    /// Scripts with a key and an argument, behind this start.
    private static let bodies = [
        // What a script returns.
        "return 3.99", "return -3.99", "return -0.5", "return 2^53", "return -1e300", "return 7e18",
        "return 0/0", "return true", "return false", "return nil", "return", "return print ~= 1",
        "return 'a\\0b\\255'", "return ''", "return 12 .. ''", "return { 1, 2, nil, 4 }",
        "return {}", "return { a = 1 }", "return { 1.5, { 'x', { false, true }, {} } }",
        "return { KEYS[1], ARGV[1], #KEYS, #ARGV, KEYS[2] or '-' }", "return tostring",
        "return redis.status_reply('FINE')", "return redis.error_reply('CODE a text')",
        "return redis.error_reply('-CODE a text')", "return redis.error_reply('text')",
        "return { 1, redis.error_reply('CODE a text'), { ok = 'FINE' } }",
        // What it reads.
        "return type(call('GET', key))", "return call('SET', key, 'x').ok",
        "call('HSET', key, 'a', 1, 'b', 2) return call('HGETALL', key)",
        "call('HSET', key, 'a', 1) return call('HMGET', key, 'b', 'a')",
        "call('HSET', key, 'a', 1) return { #call('HMGET', key, 'b', 'a') }",
        "call('SADD', key, 'a') return call('SPOP', key, 3)",
        "call('ZADD', key, 5, 'a', 7, 'b') return call('ZRANGE', key, 0, -1, 'WITHSCORES')",
        "call('ZADD', key, 5, 'a', 7, 'b') return call('ZREVRANGE', key, 0, 0, 'WITHSCORES')",
        "call('ZADD', key, 5, 'a') return call('ZSCORE', key, 'a')",
        "call('ZADD', key, 5, 'a', 7, 'b') return call('ZPOPMIN', key)",
        "call('XADD', key, '5-*', 'd', 'x') return call('XRANGE', key, '-', '+')",
        "return call('XADD', key, 'NOMKSTREAM', '5-*', 'd', 'x')",
        "return type(call('INCRBY', key, 9007199254740993))",
        "call('SET', key, '9007199254740993') return call('INCR', key)",
        // What it passes.
        "call('SET', key, 2^53) return call('GET', key)",
        "call('SET', key, 1700000000123) return call('GET', key)",
        "call('SET', key, 0.1) return call('GET', key)",
        "call('SET', key, 1/3) return call('GET', key)",
        "call('SET', key, 1e21) return call('GET', key)",
        "local zero = 0 call('SET', key, -zero) return call('GET', key)",
        "local zero = 0 return call('INCRBY', key, -zero)",
        "return call('HINCRBY', key, 'f', '01')", "return call('INCRBY', key, '+1')",
        "return call('HINCRBY', key, 'f', 1.5)", "return call('INCRBY', key, '')",
        // What fails.
        "return call('GET')", "return call()", "return call('NOSUCH', 'a')",
        "return call('GET', {})", "return call('GET', true)",
        "return redis.pcall('INCRBY', key, 'x')", "return redis.pcall('INCRBY', key, 'x').err",
        "call('SET', key, 'x')\n\nreturn call('INCR', key)",
        "call('XADD', key, '5-5', 'd', 'x') return call('XADD', key, '5-5', 'd', 'x')",
        "call('XADD', key, '5-5', 'd', 'x') return call('XSETID', key, '5-4')",
        "return call('XINFO', 'STREAM', key)", "return call('XRANGE', key, 'x', '+')",
        "return call('ZADD', key, 'x', 'a')", "return call('SET', key, 1, 'EX', 0)",
        "local a = nil\nreturn a.b", "error('a text')", "error({ err = 'CODE a text' })",
        // What it may not change or find.
        "unknown = 1", "return unknown", "return print", "string.x = 1", "redis.x = 1", "_G.x = 1",
        "KEYS = nil", "return math.huge > 1 and string.find('a-b', '-', 1, true)", "return (",
    ]

    @Test("Values and errors are those of a real server")
    func convertsAsRedis() throws {
        let live = try LiveRedis.opened(RedisProcess())
        var model = ModelServer(identity: .init(run: "r", replication: "r", startedAt: 0))
        let connection = model.connect()
        for body in Self.bodies {
            let source = ByteString(Self.start + body)
            func both(_ command: [ByteString]) throws -> RESPValue {
                let id = try live.connection.call(argumentCount: command.count) { writer in
                    for argument in command { writer.argument(argument.bytes) }
                }
                let expected = try live.reply(to: id) { RESPValue($0) }
                let reply = model.execute(command, of: connection).last?.value
                #expect(reply == expected, "\(body)")
                return expected
            }
            guard case .bulk(let digest) = try both(["SCRIPT", "LOAD", source]) else { continue }
            _ = try both(["EVALSHA", digest, "1", "key", "argument"])
            _ = try both(["DEL", "key"])
        }
    }

    @Test("A script depends on its arguments and the data alone, on each server by itself")
    func keepsNothing() {
        var server = ModelServer(identity: .init(run: "r", replication: "r", startedAt: 0))
        let connection = server.connect()
        func load(_ body: String) -> ByteString {
            let command = ["SCRIPT", "LOAD", ByteString("#!lua flags=allow-oom\n" + body)]
            return server.execute(command, of: connection)[0].value.string ?? ""
        }
        let count = load("return redis.call('INCR', 'n')")
        let time = load("return redis.call('TIME')")
        func call(_ digest: ByteString, on server: inout ModelServer) -> RESPValue? {
            server.execute(["EVALSHA", digest, "0"], of: connection).last?.value
        }
        for name in ["os", "io", "debug", "require", "loadfile", "collectgarbage", "pcall"] {
            let reply = call(load("return \(name)"), on: &server)
            #expect(reply?.string?.description.contains("nonexistent") == true, "\(name)")
        }
        #expect(call(load("return math.random"), on: &server) == .null)
        #expect(call(time, on: &server) == .array([.bulk("1700000000"), .bulk("0")]))
        #expect(call(count, on: &server) == .integer(1))
        // A copy has an interpreter of its own, which compiles the scripts again.
        var copy = server
        #expect(call(count, on: &copy) == .integer(2) && call(count, on: &copy) == .integer(3))
        #expect(call(count, on: &server) == .integer(2))
        // A replica gets what the script has changed, and not the script.
        var replica = server.makeReplica(run: "s")
        let start = server.writeCount
        #expect(call(count, on: &server) == .integer(3))
        _ = server.execute(["SCRIPT", "FLUSH"], of: connection)
        for write in server.writes(from: start) { replica.replicate(write) }
        #expect(replica.data[string: "n"] == "3")
        server.refusal = .outOfMemory
        #expect(call(count, on: &server)?.string?.hasPrefix("NOSCRIPT ") == true)
        #expect(load("return redis.call('INCR', 'n')") == count)
        #expect(call(count, on: &server) == .integer(4))
    }
}
