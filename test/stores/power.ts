// Simulates power cuts from the system calls of a real process. strace records its writes, its syncs and what it
// acknowledged; each cut keeps everything that was synced and random sectors of what was not.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

export const canRecord =
  spawnSync('strace', ['-f', '-qq', '-o', '/dev/null', '-e', 'trace=pwrite64', 'true']).status === 0

type Change =
  | { type: 'write'; file: string; at: number; data: Buffer }
  | { type: 'truncate'; file: string; size: number }
  | { type: 'unlink'; file: string }
  | { type: 'sync'; file: string }
  | { type: 'ack'; line: string }

const calls = 'pwrite64,write,fdatasync,fsync,ftruncate,unlink'

/** Runs the command and gives its changes to the files in the folder of `file`, in order. */
export function record(file: string, command: readonly string[]): Change[] {
  const folder = dirname(file)
  const trace = `${folder}.strace`
  const options = ['-f', '-qq', '-y', '-xx', '-s', '1048576', '-o', trace, '-e', `trace=${calls}`]
  const { status, stderr } = spawnSync('strace', [...options, ...command], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the writer ended with ${status}: ${stderr}`)
  const lines = readFileSync(trace, 'latin1').split('\n')
  rmSync(trace)
  const changes: Change[] = []
  /** Syncs that have begun, by thread. */
  const syncing = new Map<string, string>()
  for (const line of lines) {
    const [, thread = '', call = ''] = /^(\d+) +(.*)$/.exec(line) ?? []
    const change = changeOf(call)
    if (change?.type === 'sync' && call.endsWith('<unfinished ...>')) syncing.set(thread, change.file)
    else if (change && (change.type === 'ack' || dirname(change.file) === folder)) changes.push(change)
    if (!/^<\.\.\. (?:fsync|fdatasync) resumed>/.test(call)) continue
    const synced = syncing.get(thread)
    if (synced !== undefined && dirname(synced) === folder) changes.push({ type: 'sync', file: synced })
    syncing.delete(thread)
  }
  return changes
}

function changeOf(call: string): Change | undefined {
  const written = /^pwrite64\(\d+<([^>]*)>, "([^"]*)", \d+, (\d+)/.exec(call)
  if (written)
    return { type: 'write', file: textOf(written[1]!), at: Number(written[3]), data: bytesOf(written[2]!) }
  const printed = /^write\(1<[^>]*>, "([^"]*)"/.exec(call)
  if (printed) return { type: 'ack', line: textOf(printed[1]!).trim() }
  const synced = /^(?:fsync|fdatasync)\(\d+<([^>]*)>/.exec(call)
  if (synced) return { type: 'sync', file: textOf(synced[1]!) }
  const cut = /^ftruncate\(\d+<([^>]*)>, (\d+)/.exec(call)
  if (cut) return { type: 'truncate', file: textOf(cut[1]!), size: Number(cut[2]) }
  const gone = /^unlink\("([^"]*)"\) += 0/.exec(call)
  return gone ? { type: 'unlink', file: textOf(gone[1]!) } : undefined
}

function bytesOf(escaped: string): Buffer {
  return Buffer.from(escaped.replaceAll('\\x', ''), 'hex')
}

function textOf(escaped: string): string {
  return bytesOf(escaped).toString()
}

// ---- the cuts ------------------------------------------------------------------------------------------------

type Unsynced = Extract<Change, { type: 'write' | 'truncate' }>
/** A file on disk: what was synced, and the changes that were not. */
type DiskFile = { synced: Buffer; unsynced: Unsynced[] }

const sector = 512

/** For each of `count` random cuts: a folder with the files as the cut left them, and what was acknowledged before. */
export function* cuts(
  changes: readonly Change[],
  count: number,
  random: () => number,
  into: (cut: number) => string,
): Generator<{ folder: string; acked: string[] }> {
  const positions = Array.from({ length: count }, () => Math.floor(random() * changes.length)).sort(
    (a, b) => a - b,
  )
  const files = new Map<string, DiskFile>()
  const acked: string[] = []
  let at = 0
  for (const [cut, position] of positions.entries()) {
    for (; at <= position; at++) applyChange(files, acked, changes[at]!)
    const folder = into(cut)
    mkdirSync(folder, { recursive: true })
    // The share of unsynced sectors that reached the disk.
    const share = [0, 0.5, 0.95][cut % 3]!
    for (const [file, kept] of files)
      writeFileSync(
        join(folder, basename(file)),
        contentAfter(kept, () => random() < share),
      )
    yield { folder, acked: [...acked] }
  }
}

function applyChange(files: Map<string, DiskFile>, acked: string[], change: Change): void {
  if (change.type === 'ack') {
    acked.push(change.line)
    return
  }
  if (change.type === 'unlink') {
    files.delete(change.file)
    return
  }
  const kept = files.get(change.file) ?? { synced: Buffer.alloc(0), unsynced: [] }
  if (change.type !== 'sync') {
    kept.unsynced.push(change)
    files.set(change.file, kept)
  } else if (files.has(change.file))
    files.set(change.file, { synced: contentAfter(kept, () => true), unsynced: [] })
}

/** The content of a file after a cut. `arrives` decides for each unsynced sector whether it was written. */
function contentAfter({ synced, unsynced }: DiskFile, arrives: () => boolean): Buffer {
  const largest = unsynced.reduce(
    (size, change) => Math.max(size, change.type === 'write' ? change.at + change.data.length : change.size),
    synced.length,
  )
  const image = Buffer.alloc(largest)
  synced.copy(image)
  let size = synced.length
  for (const change of unsynced) {
    if (change.type === 'truncate') {
      if (arrives()) size = change.size
      continue
    }
    for (let from = 0; from < change.data.length; ) {
      const to = Math.min(change.data.length, from + sector - ((change.at + from) % sector))
      if (arrives()) {
        change.data.copy(image, change.at + from, from, to)
        size = Math.max(size, change.at + to)
      }
      from = to
    }
  }
  return image.subarray(0, size)
}

/** A random generator with a fixed sequence for each seed. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}
