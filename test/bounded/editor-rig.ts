// A `turnwire acp` process as an editor starts it: lines over a pipe, and questions about its event loop.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { JsonObject } from '../../src/lib/json/index.ts'
import { attackFolder, type Lifetime, type Stallable, until } from './attack-rig.ts'
import { answerWithinMs } from './fuzz/fuzz.ts'

export type Editor = Stallable & {
  write(line: Buffer): void
  /** Sends a request and waits for its answer. */
  ask(method: string, params: JsonObject): Promise<JsonObject>
  received: JsonObject[]
  log(): string
}

export function startEditor(t: Lifetime): Editor {
  const here = (file: string): string => join(import.meta.dirname, file)
  const child = spawn(
    process.execPath,
    [
      '--import',
      here('attack-probe.ts'),
      here('../../bin/turnwire.mjs'),
      'acp',
      '--config',
      here('fuzz/agent.config.ts'),
      '--data',
      attackFolder(t),
    ],
    { stdio: ['pipe', 'pipe', 'pipe', 'ipc'] },
  )
  t.after(() => child.kill('SIGKILL'))
  const received: JsonObject[] = []
  let [rest, log] = ['', '']
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (log += text))
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    // Throws if anything but the protocol is on it.
    for (const line of lines) received.push(JSON.parse(line) as JsonObject)
  })
  let asked = 0
  const question = async <T>(words: string): Promise<T> => {
    asked += 1
    const id = asked
    const answered = new Promise<T>(resolve => {
      const take = (message: unknown): void => {
        const { id: given, answer } = message as { id: number; answer: T } // From attack-probe.ts.
        if (given !== id) return
        child.off('message', take)
        resolve(answer)
      }
      child.on('message', take)
    })
    child.send({ id, question: words })
    return answered
  }
  const write = (line: Buffer): void => {
    child.stdin?.write(Buffer.concat([line, Buffer.from('\n')]))
  }
  return {
    received,
    write,
    log: () => log,
    watch: async () => void (await question('watch')),
    seen: () => question('seen'),
    slowness: () => question('slowness'),
    async ask(method, params) {
      asked += 1
      const id = `ask-${asked}`
      write(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params })))
      await until(
        () => child.exitCode !== null || received.some(message => message['id'] === id),
        answerWithinMs,
      )
      assert.equal(child.exitCode, null, log)
      return received.find(message => message['id'] === id) ?? {}
    },
  }
}
