// Watches the processes of a sandbox: too many of them, or too much memory in all, and it is ended. Limits of the kernel
// (ulimit) come first, but they hold for one process, or not for root; this one holds for all of them together.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

export type ProcessLimits = { processes: number; memoryBytes: number }

const pageBytes = 4096
const everyMs = 200

/** Calls `over` once with the reason. Returns how to stop watching. `pid`: the first process inside. */
export function watchProcesses(
  pid: number,
  limits: ProcessLimits,
  over: (reason: string) => void,
): () => void {
  const namespace = namespaceOf(pid)
  if (namespace === undefined) return () => {}
  const timer = setInterval(() => {
    const { count, bytes } = usageOf(namespace, limits.processes)
    if (count <= limits.processes && bytes <= limits.memoryBytes) return
    clearInterval(timer)
    over(
      count > limits.processes
        ? `It had more than ${limits.processes} processes and was stopped.`
        : `It used more than ${limits.memoryBytes} bytes of memory and was stopped.`,
    )
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}

function namespaceOf(pid: number | string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`)
  } catch {
    return undefined
  }
}

function usageOf(namespace: string, most: number): { count: number; bytes: number } {
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
