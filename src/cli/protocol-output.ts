// For commands whose standard output carries a protocol and nothing else.
import { Console } from 'node:console'
import { Writable } from 'node:stream'

/** From here on only the returned stream writes to standard output. Other writers are sent to standard error. */
export function takeStandardOutput(): Writable {
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

export function untilSignalled(): Promise<void> {
  return new Promise(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve())
  })
}
