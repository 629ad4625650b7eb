// The sandbox's thread: QuickJS, compiled to WebAssembly, with one program in it. Only texts and numbers cross between the
// program and this file, and nothing of Node is reachable from it. Its memory is a capped WebAssembly.Memory; time is
// limited here by interruption. If code cannot be interrupted, the host ends the thread.
import { parentPort, workerData } from 'node:worker_threads'
import type { QuickJSSyncVariant } from '@jitl/quickjs-ffi-types'
import base from '@jitl/quickjs-ng-wasmfile-release-sync'
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
} from 'quickjs-emscripten-core'
import { Catalogue } from './catalogue.ts'
import {
  computedTooLong,
  type Delivery,
  type HostMessage,
  type ProgramCall,
  pieces,
  type SandboxSetup,
  type Slice,
  type SlicePiece,
} from './messages.ts'
import { prelude } from './prelude.ts'

const pageBytes = 64 * 1024
/** The minimum of memory pages that the engine's WebAssembly module declares. */
const firstPages = 256
/** More overflows the stack of the WebAssembly instance itself. */
const stackBytes = 256 * 1024
/** Characters of the arguments of one call. */
const longestInput = 1024 * 1024

class Program {
  readonly #setup: SandboxSetup
  readonly #memory: SandboxMemory
  readonly #runtime: QuickJSRuntime
  readonly #vm: QuickJSContext
  readonly #catalogue: Catalogue
  readonly #names: Map<string, 'json' | 'text'>
  #deliver: QuickJSHandle | undefined
  #calls: ProgramCall[] = []
  #made = 0
  #given = 0
  #logs: string[] = []
  #logged = 0
  #end: Slice['end']
  #spentMs = 0

  constructor(setup: SandboxSetup, memory: SandboxMemory, runtime: QuickJSRuntime) {
    this.#setup = setup
    this.#memory = memory
    this.#runtime = runtime
    this.#runtime.setMaxStackSize(stackBytes)
    this.#vm = runtime.newContext()
    this.#names = new Map(setup.tools.map(({ name, form }) => [name, form]))
    this.#catalogue = new Catalogue(setup.tools)
  }

  /** Goes on with these results, as far as the program can. */
  step(deliveries: readonly Delivery[]): Slice {
    const began = performance.now()
    const until = began + this.#setup.limits.timeMs - this.#spentMs
    this.#runtime.setInterruptHandler(() => performance.now() > until)
    if (this.#deliver) for (const delivery of deliveries) this.#give(this.#deliver, delivery)
    else this.#start()
    const jobs = this.#runtime.executePendingJobs()
    if (jobs.error) this.#fail(jobs.error)
    this.#spentMs += performance.now() - began
    const { timeMs } = this.#setup.limits
    if (this.#spentMs >= timeMs) this.#end = { ok: false, message: computedTooLong(timeMs) }
    else if (!this.#end && this.#made === this.#given && this.#memory.wasRefused)
      this.#end = { ok: false, message: this.#outOfMemory() }
    const slice: Slice = { calls: this.#calls, logs: this.#logs, ...(this.#end && { end: this.#end }) }
    this.#calls = []
    this.#logs = []
    return slice
  }

  #start(): void {
    const vm = this.#vm
    const make = vm.unwrapResult(vm.evalCode(prelude, 'turnwire.js'))
    const { now, seed, limits, code } = this.#setup
    const given = [this.#host(), vm.newNumber(now), vm.newNumber(seed), vm.newNumber(limits.outputChars)]
    const made = vm.unwrapResult(vm.callFunction(make, vm.undefined, ...given))
    this.#deliver = vm.getProp(made, 'deliver')
    // On one line with its beginning, so that lines are counted as the model wrote them.
    const started = vm.evalCode(`(async () => { ${code}\n})()`, 'program.js')
    if (started.error) this.#fail(started.error)
    else {
      const watched = vm.callFunction(vm.getProp(made, 'watch'), vm.undefined, started.value)
      if (watched.error) this.#fail(watched.error)
    }
  }

  /** The functions that the prelude uses. They take and give texts and numbers. */
  #host(): QuickJSHandle {
    const vm = this.#vm
    const host = vm.newObject()
    const add = (name: string, run: (...values: QuickJSHandle[]) => QuickJSHandle): void =>
      vm.setProp(host, name, vm.newFunction(name, run))
    const text = (handle: QuickJSHandle | undefined): string => (handle ? vm.getString(handle) : '')
    add('call', (name, input, site) => {
      const made = this.#call(text(name), text(input), text(site))
      return typeof made === 'number' ? vm.newNumber(made) : vm.newString(made)
    })
    add('has', name => (this.#names.has(text(name)) ? vm.true : vm.false))
    add('names', () => vm.newString(JSON.stringify([...this.#names.keys()])))
    add('catalogue', (kind, about, limit) => {
      const count = limit ? vm.getNumber(limit) : 0
      return vm.newString(JSON.stringify(this.#catalogue.answer(text(kind), text(about), count)))
    })
    add('log', line => this.#log(text(line)))
    add('done', value => {
      this.#end ??= { ok: true, text: text(value) }
      return vm.undefined
    })
    add('failed', words => {
      this.#end ??= this.#failure(text(words))
      return vm.undefined
    })
    return host
  }

  /** The number of the call, or why it is not made. */
  #call(name: string, text: string, site: string): number | string {
    const { calls } = this.#setup.limits
    if (!this.#names.has(name)) return `There is no tool named ${JSON.stringify(name)}.`
    if (this.#made >= calls) return `A program may make ${calls} calls. This one has made them all.`
    if (text.length > longestInput)
      return `The input of a call may have ${longestInput} characters, not ${text.length}.`
    this.#made += 1
    this.#calls.push({ id: this.#made, name, text, site: site.slice(0, 40) })
    return this.#made
  }

  #log(line: string): QuickJSHandle {
    const room = this.#setup.limits.outputChars - this.#logged
    if (room > 0) this.#logs.push(line.slice(0, room))
    this.#logged += line.length + 1
    return this.#vm.undefined
  }

  /**
   * Without memory, QuickJS drops jobs of promises and throws nothing, so that the program waits for ever; or it throws null,
   * because it has no memory for an error.
   */
  #outOfMemory(): string {
    return `The program used all of its ${this.#setup.limits.memoryMiB} MiB of memory and cannot go on.`
  }

  /** `words`: JSON of the message and the stack, made in the sandbox. */
  #failure(words: string): NonNullable<Slice['end']> {
    const [message, stack] = JSON.parse(words) as [unknown, unknown] // Whatever a program made of it is text below.
    if (message === 'null' && this.#memory.wasRefused) return { ok: false, message: this.#outOfMemory() }
    const line = /program\.js:(\d+)/.exec(String(stack))?.[1]
    return { ok: false, message: String(message), ...(line !== undefined && { line: Number(line) }) }
  }

  #give(deliver: QuickJSHandle, { id, ok, text }: Delivery): void {
    this.#given += 1
    const vm = this.#vm
    const given = [vm.newNumber(id), ok ? vm.true : vm.false, vm.newString(text)]
    const taken = vm.callFunction(deliver, vm.undefined, ...given)
    if (taken.error) this.#fail(taken.error)
  }

  #fail(error: QuickJSHandle): void {
    const vm = this.#vm
    const member = (name: string): string => {
      const handle = vm.typeof(error) === 'object' ? vm.getProp(error, name) : vm.undefined
      return vm.typeof(handle) === 'string' ? vm.getString(handle) : ''
    }
    const words = [member('name'), member('message')].filter(each => each !== '').join(': ')
    this.#end ??= this.#failure(JSON.stringify([words || 'The program failed.', member('stack')]))
  }
}

/** The memory of one sandbox, and whether the engine was refused more of it when it last asked. */
class SandboxMemory extends WebAssembly.Memory {
  wasRefused = false

  override grow(pages: number): number {
    this.wasRefused = true
    const before = super.grow(pages)
    this.wasRefused = false
    return before
  }
}

// Its types describe the CommonJS build; this is the ES module.
const variant = base as unknown as QuickJSSyncVariant

async function load(setup: SandboxSetup): Promise<Program> {
  const memory = new SandboxMemory({
    initial: firstPages,
    maximum: Math.max(Math.ceil((setup.limits.memoryMiB * 1024 * 1024) / pageBytes), firstPages),
  })
  const wasmModule = workerData as WebAssembly.Module // The host compiled it.
  const engine = await newQuickJSWASMModuleFromVariant(
    newVariant(variant, { wasmModule, wasmMemory: memory }),
  )
  return new Program(setup, memory, engine.newRuntime())
}

parentPort?.once('message', (setup: SandboxSetup) => {
  const program = load(setup)
  let results: Delivery[] = []
  let answers: SlicePiece[] = []
  const receive = async (message: HostMessage): Promise<void> => {
    if ('results' in message) {
      results.push(...message.results)
      if (message.isPart) return
      answers = inPieces((await program).step(results))
      results = []
    }
    parentPort?.postMessage(answers.shift())
  }
  // A failure ends the thread, which the host sees.
  parentPort?.on('message', (message: HostMessage) => void receive(message))
})

function inPieces(slice: Slice): SlicePiece[] {
  const lists = pieces(slice.calls)
  const last = lists.pop() ?? []
  return [...lists.map(calls => ({ calls, logs: [], isPart: true as const })), { ...slice, calls: last }]
}
