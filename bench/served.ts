// Programs that are measured in a process of their own: started, asked what they spent, ended. And the little that a
// client of them needs.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Variant } from './harness.ts'

export const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

export type Memory = { rss: number; heapUsed: number; external: number }
/** See fixtures/probe.ts. */
export type Stalls = { p99: number; max: number; collection: number; busy: number }
/** Milliseconds of CPU that the main thread spent between two ticks of its event loop. */
export type Ticks = { p99: number; p999: number; max: number }
type Questions = {
  cpu: number
  memory: Memory
  watchStalls: boolean
  stalls: Stalls
  watchTicks: boolean
  ticks: Ticks
  /** Of fixtures/sse-clients.ts. */
  frames: number
  stops: number
  ended: number
}

export type Served = {
  child: ChildProcess
  port: number
  url: string
  /** When it was started, by this process's clock. */
  began: number
  /** See fixtures/probe.ts. */
  ask<Q extends keyof Questions>(question: Q): Promise<Questions[Q]>
  stop(): Promise<void>
}

const probe = ['--import', here('fixtures/probe.ts')]

/** Starts a program and waits until it has printed its port. `flags` are node's; without the probe it cannot be asked. */
export function start(
  args: string[],
  env: Record<string, string> = {},
  flags: string[] = probe,
): Promise<Served> {
  const began = performance.now()
  const child = spawn(process.execPath, [...flags, ...args], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: { ...process.env, ...env },
  })
  return new Promise((resolve, reject) => {
    let text = ''
    child.once('exit', code => reject(new Error(`It ended with code ${code}: ${text}`)))
    child.stdout?.on('data', piece => {
      text += String(piece)
      const found = /(?:port |127\.0\.0\.1:)(\d+)/.exec(text)
      if (!found) return
      const port = Number(found[1])
      resolve({
        child,
        port,
        url: `http://127.0.0.1:${port}`,
        began,
        ask: asker(child),
        stop: () => stop(child),
      })
    })
  })
}

/** One question at a time: answers carry no number. */
function asker(child: ChildProcess): Served['ask'] {
  return question =>
    new Promise(resolve => {
      // What the probe answers to this question is of this type.
      child.once('message', answer => resolve(answer as Questions[typeof question]))
      child.send(question)
    })
}

function stop(child: ChildProcess): Promise<void> {
  return new Promise(resolve => {
    child.once('exit', () => resolve())
    child.kill()
  })
}

/** The whole server with a configuration of `fixtures`, and its data in `folder`. */
export function startTurnwire(
  config: string,
  folder: string,
  env: Record<string, string> = {},
  flags?: string[],
): Promise<Served> {
  const args = [here('../bin/turnwire.mjs'), 'serve', '--config', here(`fixtures/${config}`)]
  return start(args, { PORT: '0', TURNWIRE_DATA: folder, ...env }, flags)
}

export type Readers = { port: number; groups: readonly { path: string; key: string }[]; each: number }

/** Readers of event streams in a process of their own: `each` for every group. Resolves once all are open. */
export async function startReaders({ port, groups, each }: Readers): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-readers-'))
  const file = join(folder, 'groups.json')
  writeFileSync(file, JSON.stringify(groups))
  try {
    const orders = { SSE_GROUPS: file, SSE_PORT: String(port), SSE_EACH: String(each) }
    return await start([here('fixtures/sse-clients.ts')], orders)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** A variant that tells the CPU microseconds of the program while `load` runs. */
export function cpuOf(name: string, served: Served, load: () => Promise<unknown>): Variant {
  return {
    name,
    async run() {
      const before = await served.ask('cpu')
      await load()
      return (await served.ask('cpu')) - before
    },
  }
}

export type Sent = {
  agent: Agent
  port: number
  path: string
  body?: unknown
  headers?: Record<string, string>
}

/** A POST whose answer is read to its end; rejects when it is no success. */
export function post({ agent, port, path, body, headers = {} }: Sent): Promise<string> {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body)
    const sent = request(
      {
        agent,
        port,
        host: '127.0.0.1',
        path,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(text),
          ...headers,
        },
      },
      response => {
        let answer = ''
        response.setEncoding('utf8')
        response.on('data', piece => {
          answer += piece
        })
        response.on('end', () =>
          response.statusCode && response.statusCode < 300 ? resolve(answer) : reject(new Error(answer)),
        )
      },
    )
    sent.on('error', reject)
    sent.end(text)
  })
}
