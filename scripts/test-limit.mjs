// Loaded into each process of tests. Node's own limit ends a test that hangs, but not a process whose tests are done and
// which something keeps alive, such as a server that a failed hook did not stop. That is a failure, and is said to be one: soon
// after the last test, so that a few such files do not use up the time of the whole run.
import { afterEach, beforeEach } from 'node:test'

const limitMs = 600_000
/** Between two tests of a file stand only hooks of suites. They may start a browser and servers on a busy machine. */
const idleMs = 120_000

/** Tests may have these replaced for a while. */
const { setTimeout, clearTimeout } = globalThis

let running = 0
let idle
const endFile = words => {
  console.error(`This file ${words}. Open: ${process.getActiveResourcesInfo().join(', ')}`)
  process.exit(1)
}
setTimeout(endFile, limitMs, `did not end within ${limitMs / 1000} s`).unref()
beforeEach(() => {
  running += 1
  clearTimeout(idle)
})
afterEach(() => {
  running -= 1
  if (running === 0)
    idle = setTimeout(endFile, idleMs, `did not end within ${idleMs / 1000} s of its last test`).unref()
})
