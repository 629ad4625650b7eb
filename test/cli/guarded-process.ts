// A process with the guard of the commands that serve, in which something is thrown from the place that its argument names.
import { EventEmitter } from 'node:events'
import { readFile } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { Worker } from 'node:worker_threads'
import { guardProcess } from '../../src/cli/guard-process.ts'
import { createLog } from '../../src/log.ts'

function fail(): never {
  const error = new Error(`thrown from ${place} with ${process.env['API_TOKEN']}`)
  throw Object.assign(error, { spawnargs: ['--setenv', 'PASSWORD', 'in-the-arguments'] })
}

const places: Record<string, () => void> = {
  'a timer': () => setTimeout(fail, 0),
  'an interval': () => setInterval(fail, 1),
  'an immediate': () => setImmediate(fail),
  'the next tick': () => process.nextTick(fail),
  'a microtask': () => queueMicrotask(fail),
  'a promise': () => void Promise.resolve().then(fail),
  'an async function': () => void (async () => fail())(),
  'an event handler': () => {
    const events = new EventEmitter().on('ready', fail)
    setImmediate(() => events.emit('ready'))
  },
  'an error that nobody listens to': () => setImmediate(() => new EventEmitter().emit('error', caught(fail))),
  'a stream': () => Readable.from(['a']).on('data', fail),
  'a stream that is destroyed': () => Readable.from(['a']).destroy(caught(fail)),
  'a callback of the file system': () => readFile('/', fail),
  'an abort listener': () => {
    const abort = new AbortController()
    abort.signal.addEventListener('abort', fail)
    abort.abort()
  },
  'a message of a thread': () =>
    new Worker('require("worker_threads").parentPort.postMessage(1)', { eval: true }).on('message', fail),
  'a request': () => {
    const server = createServer(fail).listen(0, '127.0.0.1', () =>
      request({ port: (server.address() as AddressInfo).port })
        .on('error', () => {})
        .end(),
    )
  },
}

function caught(run: () => never): Error {
  try {
    return run()
  } catch (error) {
    return error as Error // `fail` throws nothing else.
  }
}

const place = process.argv[2] ?? ''
if (place === '--list') {
  console.log(JSON.stringify(Object.keys(places)))
  process.exit(0)
}
const guard = guardProcess(createLog(), 0)
places[place]?.()
// Work that goes on: a guard that ended the process at once would not let it finish.
await guard.faulted
await new Promise(resolve => setTimeout(resolve, 5))
console.log('drained')
process.exit(guard.status)
