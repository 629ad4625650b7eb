// Loaded into each process of tests. Node's own limit ends a test that hangs, but not a process whose tests are done and
// which something keeps alive, such as a socket that a failed test left open. That is a failure, and is said to be one.
const limitMs = 600_000

setTimeout(() => {
  console.error(
    `This file did not end within ${limitMs / 1000} s. Open: ${process.getActiveResourcesInfo().join(', ')}`,
  )
  process.exit(1)
}, limitMs).unref()
