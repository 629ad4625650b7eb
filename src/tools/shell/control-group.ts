// A control group (cgroup v2) for the processes of one command, where this process may make one: below its own group, or beside
// it in a group that was delegated to it. There the kernel itself limits all memory and the number of processes.
// Elsewhere nothing is made, and the processes are watched (watch-processes.ts).
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export type GroupLimits = { processes: number; memoryBytes: number }

/** Access to the kernel's files of a control group. Each function may throw. */
export type GroupFiles = {
  make(folder: string): void
  read(file: string): string
  write(file: string, text: string): void
  remove(folder: string): void
}

const kernel: GroupFiles = {
  make: folder => mkdirSync(folder),
  read: file => readFileSync(file, 'latin1'),
  // Never made: the kernel has them or not.
  write: (file, text) => writeFileSync(file, text, { flag: 'r+' }),
  remove: folder => rmdirSync(folder),
}

const mountPoint = '/sys/fs/cgroup'

export class ControlGroup {
  readonly #files: GroupFiles
  readonly #folder: string

  private constructor(files: GroupFiles, folder: string) {
    this.#files = files
    this.#folder = folder
  }

  /** Undefined: none can be made here. */
  static make(limits: GroupLimits, files: GroupFiles = kernel): ControlGroup | undefined {
    const own = attempt(() => /^0::(\/.*)$/m.exec(files.read('/proc/self/cgroup'))?.[1])
    if (own === undefined) return undefined
    for (const parent of parents(join(mountPoint, own))) {
      const folder = join(parent, `turnwire-${randomBytes(6).toString('hex')}`)
      const made = attempt(() => makeIn(files, parent, folder, limits))
      if (made) return new ControlGroup(files, folder)
      attempt(() => files.remove(folder))
    }
    return undefined
  }

  /** Processes that it starts later are in the group too. */
  add(pid: number): void {
    this.#files.write(join(this.#folder, 'cgroup.procs'), String(pid))
  }

  /** The kernel ended a process because the group had no memory left. */
  get ranOutOfMemory(): boolean {
    const events = attempt(() => this.#files.read(join(this.#folder, 'memory.events')))
    return /^oom_kill [1-9]/m.test(events ?? '')
  }

  /** Ends what is left in it. A group is gone only once its last process is, which takes a moment. */
  async close(): Promise<void> {
    attempt(() => this.#files.write(join(this.#folder, 'cgroup.kill'), '1'))
    for (let tried = 0; tried < 50; tried += 1) {
      const isGone = attempt(() => {
        this.#files.remove(this.#folder)
        return true
      })
      if (isGone) return
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
}

/** Root may write everywhere, so only for another user does it mean that the group around its own was given to it. */
function parents(own: string): string[] {
  return own === mountPoint || process.getuid?.() === 0 ? [own] : [own, dirname(own)]
}

function makeIn(
  files: GroupFiles,
  parent: string,
  folder: string,
  { memoryBytes, processes }: GroupLimits,
): true {
  // Refused where processes are in the group itself; it may be set already.
  attempt(() => files.write(join(parent, 'cgroup.subtree_control'), '+memory +pids'))
  files.make(folder)
  files.write(join(folder, 'memory.max'), String(memoryBytes))
  // One more for the sandbox's own first process.
  files.write(join(folder, 'pids.max'), String(processes + 1))
  // All of the command ends, not one process of it; kernels without swap have no such file.
  attempt(() => files.write(join(folder, 'memory.oom.group'), '1'))
  attempt(() => files.write(join(folder, 'memory.swap.max'), '0'))
  return true
}

function attempt<Value>(work: () => Value): Value | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
