// P13: the first cycles of a process through the public library, a new session for each, when little is compiled yet.
import { execFileSync } from 'node:child_process'
import type { Trial, Variant } from './harness.ts'
import { installed } from './peers.ts'
import { here } from './served.ts'

const cycles = 800

function inNewProcess(name: string, whose: string): Variant {
  const args = [here('fixtures/young.ts'), whose, String(cycles)]
  return { name, run: () => Number(execFileSync(process.execPath, args, { encoding: 'utf8' })) }
}

export async function youngProcess(): Promise<Trial[]> {
  const told = { measure: 'told', units: cycles, rounds: 9 } as const
  const [bare, ours, pi] = ['bare loop', 'turnwire', 'pi']
  const synced = 'bare loop with two synced commits'
  return [
    {
      ...told,
      name: `the first ${cycles} cycles of a process, in memory (CPU)`,
      variants: [
        inNewProcess(bare, 'bare'),
        inNewProcess(ours, 'turnwire'),
        ...(installed ? [inNewProcess(pi, 'pi')] : []),
      ],
      bars: [
        { id: 'P13', ours, floor: bare, most: 16 },
        ...(installed ? [{ id: 'P13', ours, floor: pi, most: 0.7 }] : []),
      ],
    },
    {
      ...told,
      name: `the first ${cycles} cycles of a process, synced to disk (wall)`,
      variants: [inNewProcess(synced, 'bare-disk'), inNewProcess(ours, 'turnwire-disk')],
      bars: [{ id: 'P13', ours, floor: synced, most: 2.4 }],
    },
  ]
}
