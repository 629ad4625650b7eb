// Serves one client on standard input and output. Standard output carries the protocol and nothing else: everything that
// code of this process prints goes to standard error.
import { Console } from 'node:console'
import { type Readable, Writable } from 'node:stream'
import { serverDefaults } from '../config/config.ts'
import { createLog } from '../log.ts'
import { Runtime } from '../runtime.ts'
import type { Values } from './command.ts'
import { guardProcess, untilSignalled } from './guard-process.ts'
import { setUp } from './setup.ts'

type Serve = (
  runtime: Runtime,
  pipe: { input: Readable; output: Writable },
) => Promise<{ ended: Promise<unknown>; close?: () => Promise<void> }>

/** Until the client leaves, a signal comes or an error was not caught. Gives the exit code. */
export async function servePipe(values: Values, serve: Serve): Promise<number> {
  const output = takeStandardOutput()
  const { config, source } = await setUp(values)
  const log = createLog({ level: config.server?.log ?? 'warn' })
  const guard = guardProcess(log, config.server?.graceMs ?? serverDefaults.graceMs)
  // Unfinished sessions are for a server to resume: their agents may need its environment.
  const runtime = await Runtime.open(config, { log, source, recover: false })
  try {
    const { ended, close } = await serve(runtime, { input: process.stdin, output })
    await Promise.race([ended, untilSignalled(), guard.faulted])
    await close?.()
  } finally {
    await runtime.close()
  }
  process.stdin.destroy()
  return guard.status
}

/** From here on only the returned stream writes to standard output. Other writers are sent to standard error. */
function takeStandardOutput(): Writable {
  const { stdout, stderr } = process
  const write = stdout.write.bind(stdout)
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => void write(chunk, error => done(error)),
  })
  stdout.on('error', error => output.destroy(error))
  // A client that is gone closes our input. Failing to write to it is no error.
  output.on('error', () => {})
  stdout.write = stderr.write.bind(stderr)
  globalThis.console = new Console({ stdout: stderr, stderr })
  return output
}
