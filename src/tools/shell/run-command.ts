// Runs one command line in the sandbox and streams its output. After its end (also by deadline, cancellation or a
// limit) no process of it is left: the sandbox has its own process namespace, which ends with its first process. The
// command and its variables are never passed as arguments, because every user of the host can read those.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { ControlGroup } from './control-group.ts'
import { type Sandbox, SandboxFailed, sandboxArguments } from './sandbox.ts'
import { systemCallFilter } from './seccomp.ts'
import { type ProcessLimits, tooMuchMemory, watchProcesses } from './watch-processes.ts'

export type CommandLimits = ProcessLimits & { timeoutMs: number; outputBytes: number; fileBytes: number }

export type CommandEnd = {
  stdout: string
  stderr: string
  /** Undefined: it was ended by us. */
  exitCode?: number
  timedOut?: true
  /** Why it was ended before its time. */
  stopped?: string
  /** Text that restores the working folder and the exported variables. */
  state?: string
}

export type CommandRun = {
  sandbox: Sandbox
  limits: CommandLimits
  command: string
  /** The shell state that an earlier command left, as `CommandEnd.state`. */
  state: string
  signal: AbortSignal
  show: (text: string) => void
}

const mostState = 64 * 1024

/** Descriptors of bubblewrap, beside input and output. */
const fds = { state: 3, info: 4, options: 5, filter: 6, go: 7, script: 8 } as const

/**
 * $1, $2: limits. The descriptor `script` gives the state and the command. The state goes to descriptor 3, which the command
 * does not have; every other one is closed before, also those that this process inherited without knowing.
 */
const wrapper = `ulimit -c 0; ulimit -f "$1"; ulimit -u "$2" 2>/dev/null
eval "$(/bin/cat <&${fds.script})"
for __fd in /proc/self/fd/*; do __fd=\${__fd##*/}; if [ "$__fd" -gt 3 ]; then exec {__fd}>&-; fi; done
unset __fd; set --
eval "$__state"; unset __state
trap 'export -p >&3; printf "cd %q\\n" "$PWD" >&3' EXIT
eval "$__line" 3>&-`

const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

export async function runCommand(run: CommandRun): Promise<CommandEnd> {
  const { sandbox, limits, signal } = run
  signal.throwIfAborted()
  const child = await start(run)
  const ended = new Promise<number | null>(resolve => child.once('close', resolve))
  const info = collect(child, fds.info, 4096)
  const inside = info.first.then(text => Number(/"child-pid":\s*(\d+)/.exec(text)?.[1] ?? 0))
  const stop = new Stop(child, inside)
  const clock = setTimeout(() => stop.now({ timedOut: true }), limits.timeoutMs)
  const cancel = (): void => stop.now({ stopped: 'It was cancelled.' })
  signal.addEventListener('abort', cancel, { once: true })
  if (signal.aborted) cancel()
  const stdout = new Output(child.stdout!, limits.outputBytes, run.show)
  const stderr = new Output(child.stderr!, limits.outputBytes, run.show)
  const left = collect(child, fds.state, mostState)
  const group = ControlGroup.make(limits)
  let unwatch = (): void => {}
  void inside.then(pid => {
    if (pid > 0) unwatch = watchProcesses(pid, sandbox.root, limits, stopped => stop.now({ stopped }))
    letGo(child, group, pid)
  })
  try {
    const code = await ended
    // Bubblewrap reports the process that it made once the sandbox is complete.
    if (!info.text().includes('child-pid')) throw new SandboxFailed(startFailure(stderr.text()))
    if (group?.ranOutOfMemory)
      stop.why ??= { stopped: `${tooMuchMemory(limits.memoryBytes)} and was stopped.` }
    const end: CommandEnd = { stdout: stdout.text(), stderr: stderr.text(), ...stop.why }
    if (stop.why) return end
    return { ...end, exitCode: code ?? 1, ...(left.text() !== '' && { state: left.text() }) }
  } finally {
    clearTimeout(clock)
    unwatch()
    signal.removeEventListener('abort', cancel)
    await group?.close()
  }
}

/** Throws SandboxFailed if no process can be started, in words that hold nothing of the command and its variables. */
async function start({ sandbox, limits, command, state }: CommandRun): Promise<ChildProcess> {
  const filter = systemCallFilter()
  if (!filter) throw new SandboxFailed(`There is no filter of system calls for ${process.arch} processors.`)
  const options = sandboxArguments(sandbox, fds)
  const child = spawn(
    sandbox.program,
    [
      ...['--args', String(fds.options), '/bin/bash', '--norc', '--noprofile', '-c', wrapper, 'bash'],
      ...[String(Math.ceil(limits.fileBytes / 1024)), String(limits.processes)],
    ],
    {
      stdio: ['ignore', ...Array.from({ length: fds.script }, () => 'pipe' as const)],
      env: {},
      detached: true,
    },
  )
  if (child.pid === undefined) {
    const [error] = await once(child, 'error')
    const code = error instanceof Error && 'code' in error ? error.code : 'no reason was given'
    throw new SandboxFailed(`No process could be started (${String(code)}).`)
  }
  // Without a listener a pipe that breaks would end this process. That the sandbox ended is told by its end.
  child.on('error', () => {})
  for (const stream of child.stdio) stream?.on('error', () => {})
  input(child, fds.options).end(options.map(option => `${option}\0`).join(''))
  input(child, fds.filter).end(filter)
  input(child, fds.script).end(`__state=${shellQuoted(state)}; __line=${shellQuoted(command)}`)
  return child
}

/** Descriptors from 3 on are pipes, as `stdio` says. */
const input = (child: ChildProcess, fd: number): Writable => child.stdio[fd] as Writable

/** The command starts now. Its process is in the group by then, and so will be all that it starts. */
function letGo(child: ChildProcess, group: ControlGroup | undefined, pid: number): void {
  try {
    if (pid > 0) group?.add(pid)
  } catch {
    // The group is not for it, or it has just ended. It is watched all the same.
  }
  input(child, fds.go).end('\n')
}

function startFailure(words: string): string {
  const said = words.trim() || 'No reason was given.'
  return /unknown option/i.test(said) ? `${said} Bubblewrap 0.8 or newer is needed.` : said
}

/** Bubblewrap names the first process as soon as it has made it. One that does not is ended all the same. */
const mostNamingMs = 5_000

/**
 * Ends the sandbox, once, and remembers why. The first process inside is ended, and with it all others. If bubblewrap alone were
 * ended while it starts, that process could outlive it: it asks to end with its parent only a little later.
 */
class Stop {
  readonly #child: ChildProcess
  readonly #inside: Promise<number>
  why: Pick<CommandEnd, 'timedOut' | 'stopped'> | undefined

  /** `inside`: the first process, by its number out here. 0: there is none. */
  constructor(child: ChildProcess, inside: Promise<number>) {
    this.#child = child
    this.#inside = inside
  }

  now(why: Pick<CommandEnd, 'timedOut' | 'stopped'>): void {
    if (this.why || this.#isOver || this.#child.pid === undefined) return
    this.why = why
    const { promise: waited, resolve } = Promise.withResolvers<number>()
    const timer = setTimeout(resolve, mostNamingMs, 0)
    void Promise.race([this.#inside, waited]).then(pid => {
      clearTimeout(timer)
      this.#kill(pid)
    })
  }

  get #isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  #kill(inside: number): void {
    if (this.#isOver) return
    for (const pid of inside > 0 ? [inside, -this.#child.pid!] : [-this.#child.pid!])
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It has just ended by itself.
      }
  }
}

/** The output of a command: shown live up to a limit; its beginning and its end are kept. */
class Output {
  readonly #decoder = new StringDecoder('utf8')
  readonly #half: number
  #head = ''
  #tail = ''
  #dropped = 0

  constructor(stream: NodeJS.ReadableStream, most: number, show: (text: string) => void) {
    this.#half = Math.floor(most / 2)
    let live = most * 4
    stream.on('data', (bytes: Buffer) => {
      const text = this.#decoder.write(bytes)
      this.#take(text)
      if (live <= 0 || text === '') return
      const shown = text.slice(0, live)
      live -= shown.length
      show(live > 0 ? shown : `${shown}\n[more output is not shown]\n`)
    })
  }

  #take(text: string): void {
    const room = this.#half - this.#head.length
    this.#head += text.slice(0, room)
    const tail = this.#tail + text.slice(Math.max(0, room))
    this.#tail = tail.slice(-this.#half)
    this.#dropped += tail.length - this.#tail.length
  }

  text(): string {
    const middle = this.#dropped === 0 ? '' : `\n[${this.#dropped} characters left out]\n`
    return `${this.#head}${middle}${this.#tail}`.toWellFormed()
  }
}

/** A bounded text from a descriptor. `first` resolves with its first piece, or with '' when there is none. */
function collect(child: ChildProcess, fd: number, most: number): { text(): string; first: Promise<string> } {
  // Descriptors from 3 on are pipes, as `stdio` says.
  const stream = child.stdio[fd] as NodeJS.ReadableStream
  let text = ''
  stream.on('data', (bytes: Buffer) => {
    text += bytes.toString('utf8')
    if (text.length > most) text = ''.padEnd(most + 1)
  })
  const first = Promise.race([once(stream, 'data'), once(stream, 'close')]).then(
    () => text,
    () => '',
  )
  return { text: () => (text.length > most ? '' : text), first }
}
