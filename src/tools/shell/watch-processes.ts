// Watches the processes of a sandbox: too many of them, too much memory in all, or too little space left on the disk that
// they write to, and it is ended. Limits of the kernel (ulimit) come first, but they hold for one process or one file, or not
// for root; this one holds for all of them together.
import { readdirSync, readFileSync, readlinkSync, statfsSync } from 'node:fs'

export type ProcessLimits = { processes: number; memoryBytes: number; freeBytes: number }

const pageBytes = 4096
const everyMs = 200

/** Calls `over` once with the reason. Returns how to stop watching. `pid`: the first process inside. `root`: where it writes. */
export function watchProcesses(
  pid: number,
  root: string,
  limits: ProcessLimits,
  over: (reason: string) => void,
): () => void {
  const namespace = namespaceOf(pid)
  if (namespace === undefined) return () => {}
  const timer = setInterval(() => {
    const reason = excess(usageOf(namespace, limits.processes), root, limits)
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
  if (bytes > memoryBytes) return `It used more than ${memoryBytes} bytes of memory`
  if (freeOn(root) < freeBytes) return `It left less than ${freeBytes} bytes free on the disk`
  return undefined
}

function freeOn(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

function namespaceOf(pid: number | string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`)
  } catch {
    return undefined
  }
}

function usageOf(namespace: string, most: number): Usage {
  let count = 0
  let bytes = 0
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid) || namespaceOf(pid) !== namespace) continue
    count += 1
    if (count > most) break
    bytes += residentBytes(pid)
  }
  return { count, bytes }
}

function residentBytes(pid: string): number {
  try {
    const [, resident = '0', shared = '0'] = readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')
    return Math.max(0, Number(resident) - Number(shared)) * pageBytes
  } catch {
    return 0
  }
}
