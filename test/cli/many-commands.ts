// Runs many commands in one process, each in an empty folder, and prints the code and the output of each. For commands that
// end at once: a process for each would cost more than the commands. Given on its input: a list of lists of arguments.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { main } from '../../src/cli/main.ts'
import type { Done } from './rig.ts'

// Each command listens to them once.
process.stdout.setMaxListeners(0)
process.stderr.setMaxListeners(0)
const print = process.stdout.write.bind(process.stdout)

async function runOne(args: string[]): Promise<Done> {
  const done: Done = { code: null, stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const)
    process[stream].write = text => {
      done[stream] += text
      return true
    }
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-cli-'))
  process.chdir(folder)
  done.code = await main(args)
  process.chdir(tmpdir())
  rmSync(folder, { recursive: true })
  return done
}

const results: Done[] = []
// The test that starts this process gives no other input.
for (const args of (await json(process.stdin)) as string[][]) results.push(await runOne(args))
print(JSON.stringify(results))
