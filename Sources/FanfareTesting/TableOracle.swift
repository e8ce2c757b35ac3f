// Tests of lists check their changes with a `TableOracle`, which reports violated rules of table views. With this
// export they need no other import.
@_exported public import LiveRows
