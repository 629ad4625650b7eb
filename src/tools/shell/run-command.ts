// Runs one command line in the sandbox and streams what it shows. Whatever happens (the deadline, a cancellation, a limit), no
// process of it is left: the sandbox has its own process namespace, which ends with its first process.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { StringDecoder } from 'node:string_decoder'
import { type Sandbox, sandboxArguments } from './sandbox.ts'
import { type ProcessLimits, watchProcesses } from './watch-processes.ts'

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
  /** What an earlier command left, as `CommandEnd.state`. */
  state: string
  signal: AbortSignal
  show: (text: string) => void
}

/** The sandbox could not be made, so that nothing was run. */
export class SandboxFailed extends Error {}

const mostState = 64 * 1024

/** $1: the state, $2: the command, $3…: limits. The state goes to descriptor 3, which the command does not have. */
const wrapper = `ulimit -c 0; ulimit -f "$3"; ulimit -u "$4" 2>/dev/null
eval "$1"
trap 'export -p >&3; printf "cd %q\\n" "$PWD" >&3' EXIT
__line=$2; set --
eval "$__line" 3>&-`

export async function runCommand(run: CommandRun): Promise<CommandEnd> {
  const { sandbox, limits, command, state, signal } = run
  signal.throwIfAborted()
  const child = spawn(
    sandbox.program,
    [
      ...sandboxArguments(sandbox, 4),
      ...['/bin/bash', '--norc', '--noprofile', '-c', wrapper, 'bash', state, command],
      ...[String(Math.ceil(limits.fileBytes / 1024)), String(limits.processes)],
    ],
    { stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'], env: {}, detached: true },
  )
  const ended = new Promise<[number | null]>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => resolve([code]))
  })
  const info = collect(child, 4, 4096)
  const inside = info.first.then(text => Number(/"child-pid":\s*(\d+)/.exec(text)?.[1] ?? 0))
  const stop = new Stop(child, inside)
  const clock = setTimeout(() => stop.now({ timedOut: true }), limits.timeoutMs)
  const cancel = (): void => stop.now({ stopped: 'It was cancelled.' })
  signal.addEventListener('abort', cancel, { once: true })
  const stdout = new Output(child.stdout!, limits.outputBytes, run.show)
  const stderr = new Output(child.stderr!, limits.outputBytes, run.show)
  const left = collect(child, 3, mostState)
  let unwatch = (): void => {}
  void inside.then(pid => {
    if (pid > 0) unwatch = watchProcesses(pid, sandbox.root, limits, stopped => stop.now({ stopped }))
  })
  try {
    const [code] = await ended
    // Bubblewrap says which process it made once the walls stand.
    if (!info.text().includes('child-pid'))
      throw new SandboxFailed(stderr.text().trim() || 'no reason was given')
    const end: CommandEnd = { stdout: stdout.text(), stderr: stderr.text(), ...stop.why }
    if (stop.why) return end
    return { ...end, exitCode: code ?? 1, ...(left.text() !== '' && { state: left.text() }) }
  } finally {
    clearTimeout(clock)
    unwatch()
    signal.removeEventListener('abort', cancel)
  }
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

/** What a command shows: live as it comes, up to a limit, and afterwards its beginning and its end. */
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
