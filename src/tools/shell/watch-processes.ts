// Watches the processes of a sandbox: too many of them, too much memory in all, or too little space left on the disk that
// they write to, and it is ended. Limits of the kernel (ulimit) come first, but they hold for one process or one file, or not
// for root; this one holds for all of them together. Where a control group can be made (control-group.ts), that one counts
// memory exactly.
import { readdirSync, readFileSync, readlinkSync, statfsSync } from 'node:fs'

export type ProcessLimits = { processes: number; memoryBytes: number; freeBytes: number }

const everyMs = 200

/** Calls `over` once with the reason. Returns how to stop watching. `pid`: the first process inside. `root`: where it writes. */
export function watchProcesses(
  pid: number,
  root: string,
  limits: ProcessLimits,
  over: (reason: string) => void,
): () => void {
  const namespace = readNamespace(pid)
  if (namespace === undefined) return () => {}
  const timer = setInterval(() => {
    const reason = excess(measureUsage(namespace, limits.processes), root, limits)
    if (reason === undefined) return
    clearInterval(timer)
    over(`${reason} and was stopped.`)
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}

type Usage = { count: number; bytes: number }

function excess(
  { count, bytes }: Usage,
  root: string,
  { processes, memoryBytes, freeBytes }: ProcessLimits,
): string | undefined {
  if (count > processes) return `It had more than ${processes} processes`
  if (bytes > memoryBytes) return tooMuchMemory(memoryBytes)
  if (freeOn(root) < freeBytes) return `It left less than ${freeBytes} bytes free on the disk`
  return undefined
}

export function tooMuchMemory(most: number): string {
  return `It used more than ${most} bytes of memory`
}

function freeOn(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

function readNamespace(pid: number | string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`)
  } catch {
    return undefined
  }
}

function measureUsage(namespace: string, most: number): Usage {
  let count = 0
  let bytes = 0
  const shared = new Map<string, number>()
  for (const pid of processes()) {
    if (!/^\d+$/.test(pid) || readNamespace(pid) !== namespace) continue
    count += 1
    if (count > most) break
    bytes += privateBytes(pid)
    addShared(pid, shared)
  }
  for (const size of shared.values()) bytes += size
  return { count, bytes }
}

/** Without a free descriptor nothing can be seen now. The next look comes soon. */
function processes(): string[] {
  try {
    return readdirSync('/proc')
  } catch {
    return []
  }
}

/** Pages of the process alone. */
function privateBytes(pid: string): number {
  return Number(/^RssAnon:\s*(\d+) kB/m.exec(readProcFile(`/proc/${pid}/status`))?.[1] ?? 0) * 1024
}

/**
 * Memory that processes share and that is no file. Each piece counts once, and whole: its pages stay after a process has
 * given up its view of them.
 */
function addShared(pid: string, sizes: Map<string, number>): void {
  const mapping = /^([0-9a-f]+)-([0-9a-f]+) ...s \S+ (\S+) (\d+) +\/dev\/zero \(deleted\)$/gm
  const found = new Map<string, number>()
  for (const [, from = '', to = '', device, inode] of readProcFile(`/proc/${pid}/maps`).matchAll(mapping)) {
    const key = `${device} ${inode}`
    const size = Number.parseInt(to, 16) - Number.parseInt(from, 16)
    found.set(key, (found.get(key) ?? 0) + size)
  }
  for (const [key, size] of found) sizes.set(key, Math.max(size, sizes.get(key) ?? 0))
}

/** '' for a process that has just ended. */
function readProcFile(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
