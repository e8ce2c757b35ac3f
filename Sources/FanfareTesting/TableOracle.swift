// Tests of lists check their changes with a `TableOracle`, which reports the violated rule of table views. This export
// saves them an import.
@_exported public import LiveRows
