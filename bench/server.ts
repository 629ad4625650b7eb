// The whole server against a bare one: turns per second with many clients, start to first answer, memory when idle.
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { Result, Trial } from './harness.ts'
import { join, tempFolder } from './parts.ts'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

type Served = { child: ChildProcess; port: number; readyMs: number }

/** Starts a program and waits until it has printed its port. */
function start(args: string[], env: Record<string, string> = {}): Promise<Served> {
  const began = performance.now()
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, ...env },
  })
  return new Promise((resolve, reject) => {
    let text = ''
    child.once('exit', code => reject(new Error(`It ended with code ${code}: ${text}`)))
    child.stdout?.on('data', piece => {
      text += String(piece)
      const found = /(?:port |127\.0\.0\.1:)(\d+)/.exec(text)
      if (found) resolve({ child, port: Number(found[1]), readyMs: performance.now() - began })
    })
  })
}

const serveArgs = [here('../bin/turnwire.mjs'), 'serve', '--config', here('fixtures/bench.config.ts')]

function post(agent: Agent, port: number, path: string, body: unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body)
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
    const sent = request({ agent, port, host: '127.0.0.1', path, method: 'POST', headers }, response => {
      let answer = ''
      response.setEncoding('utf8')
      response.on('data', piece => {
        answer += piece
      })
      response.on('end', () =>
        response.statusCode && response.statusCode < 300
          ? resolve(JSON.parse(answer))
          : reject(new Error(answer)),
      )
    })
    sent.on('error', reject)
    sent.end(text)
  })
}

const turn = { messages: [{ role: 'user', content: 'What is two and three?' }] }

/** P6: turns per second with 64 clients. */
export async function turnsPerSecond(): Promise<Trial> {
  const clients = 64
  const turns = 20
  const folder = tempFolder()
  const ours = await start(serveArgs, { PORT: '0', TURNWIRE_DATA: join(folder.path, 'data') })
  const bare = await start([here('fixtures/bare-server.ts'), join(folder.path, 'bare.db')])
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  const paths = await Promise.all(
    Array.from({ length: clients }, async () => {
      const created = await post(agent, ours.port, '/sessions', {
        agent: { name: 'bench' },
      })
      return `/sessions/${(created as { sessionId: string }).sessionId}/turns`
    }),
  )
  const load = (port: number, pathOf: (client: number) => string) => () =>
    Promise.all(
      paths.map(async (_, client) => {
        for (let index = 0; index < turns; index += 1) await post(agent, port, pathOf(client), turn)
      }),
    )
  return {
    name: `turns over HTTP, ${clients} clients, SQLite FULL (wall per turn)`,
    measure: 'wall',
    units: clients * turns,
    variants: [
      { name: 'bare server', run: load(bare.port, () => '/') },
      { name: 'turnwire (AAP)', run: load(ours.port, client => paths[client] ?? '/') },
    ],
    bars: [{ id: 'P6', ours: 'turnwire (AAP)', floor: 'bare server', most: 2 }],
    close() {
      agent.destroy()
      ours.child.kill()
      bare.child.kill()
      folder.remove()
    },
  }
}

/** P10: from the start of the process to its first answer, and what it keeps in memory when nothing happens. */
export async function startAndIdle(): Promise<Result> {
  const folder = tempFolder()
  const times: number[] = []
  let rss = 0
  for (let round = 0; round < 6; round += 1) {
    const began = performance.now()
    const served = await start(serveArgs, { PORT: '0', TURNWIRE_DATA: join(folder.path, 'data') })
    await fetch(`http://127.0.0.1:${served.port}/health`)
    times.push(performance.now() - began)
    await new Promise(resolve => setTimeout(resolve, 300))
    rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${served.child.pid}/status`, 'utf8'))?.[1]) / 1024
    served.child.kill()
    await new Promise(resolve => served.child.once('exit', resolve))
  }
  folder.remove()
  const first = [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN
  return {
    trial: 'start to first answer (ms, in place of us), idle memory (MiB)',
    medians: { 'start to first answer': first, 'idle RSS': rss },
    bars: [
      {
        id: 'start under 1 s',
        ours: 'start',
        floor: '1,000 ms',
        most: 1,
        ratio: first / 1000,
        met: first <= 1000,
      },
      {
        id: 'idle RSS under 120 MB',
        ours: 'RSS',
        floor: '120 MiB',
        most: 1,
        ratio: rss / 120,
        met: rss <= 120,
      },
    ],
  }
}
