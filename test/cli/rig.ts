// Runs the real command as a child process, in a folder of its own, with nothing of this environment that it would heed.
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { tempFolder } from '../temp-folder.ts'

export const root = join(import.meta.dirname, '../..')
export const command = join(root, 'bin/turnwire.mjs')

export type Done = { code: number | null; stdout: string; stderr: string }
export type RunOptions = { cwd: string; env?: Record<string, string>; input?: string }

export function folder(t: TestContext): string {
  return tempFolder(t, 'turnwire-cli-')
}

export function environment(extra: Record<string, string> = {}): Record<string, string> {
  const kept = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'SystemRoot', 'NODE_COMPILE_CACHE']
  const env = Object.fromEntries(kept.flatMap(name => (process.env[name] ? [[name, process.env[name]]] : [])))
  return { ...env, TERM: 'xterm-256color', ...extra }
}

export function turnwire(args: readonly string[], { cwd, env, input = '' }: RunOptions): Done {
  const done = spawnSync(process.execPath, [command, ...args], {
    cwd,
    env: environment(env),
    input,
    encoding: 'utf8',
    timeout: 600_000,
  })
  return { code: done.status, stdout: done.stdout, stderr: done.stderr }
}

/** The same for commands that end at once, in one process, each in an empty folder. */
export function turnwires(lines: readonly string[][]): Done[] {
  const done = spawnSync(process.execPath, [join(import.meta.dirname, 'many-commands.ts')], {
    env: environment(),
    input: JSON.stringify(lines),
    encoding: 'utf8',
    timeout: 600_000,
  })
  if (done.status !== 0) throw new Error(done.stderr)
  return JSON.parse(done.stdout) as Done[] // Our own program's output.
}

export type Started = {
  child: ChildProcess
  /** What it has written until now. */
  stdout: () => string
  stderr: () => string
  /** Until the pattern stands in what it wrote, colours aside; fails when the process ends first. */
  until: (pattern: RegExp) => Promise<RegExpExecArray>
  exit: Promise<number | string>
}

export function start(t: TestContext, args: readonly string[], { cwd, env }: RunOptions): Started {
  return watched(t, spawn(process.execPath, [command, ...args], { cwd, env: environment(env) }))
}

export function watched(t: TestContext, child: ChildProcess): Started {
  let stdout = ''
  let stderr = ''
  let check = (): void => {}
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    check()
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const exit = new Promise<number | string>(resolve => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'gone'))
  })
  t.after(() => {
    child.kill('SIGKILL')
    // What the child started may outlive it and hold the pipes, and the test would never end.
    child.stdout?.destroy()
    child.stderr?.destroy()
  })
  const until = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      check = () => {
        const found = pattern.exec(stripVTControlCharacters(stdout))
        if (found) resolve(found)
      }
      void exit.then(code => reject(new Error(`ended with ${code} before ${pattern}:\n${stdout}\n${stderr}`)))
      check()
    })
  return { child, stdout: () => stdout, stderr: () => stderr, until, exit }
}

/** Whether a terminal can be had: by script(1) of util-linux. */
export function hasTerminal(): boolean {
  return existsSync('/dev/ptmx') && spawnSync('script', ['--version']).status === 0
}

export type OnTerminal = Started & { child: ChildProcessWithoutNullStreams; type: (text: string) => void }

/** A line of the shell on a terminal. Its standard error is among what it wrote. */
export function onTerminal(t: TestContext, line: string, { cwd, env }: RunOptions): OnTerminal {
  const child = spawn('script', ['-qefc', line, '/dev/null'], { cwd, env: environment(env) })
  return { ...watched(t, child), child, type: text => void child.stdin.write(text) }
}

export type Served = Started & { url: string }

/** `turnwire serve` on a free port, ready to answer. */
export async function serve(t: TestContext, options: RunOptions & { args?: string[] }): Promise<Served> {
  const env = { PORT: '0', ...options.env }
  const started = start(t, ['serve', ...(options.args ?? [])], { ...options, env })
  const [, url] = await started.until(/listens on (http:\/\/\S+)[\s\S]*Ctrl-C stops it/)
  return { ...started, url: url! }
}
