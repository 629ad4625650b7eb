// The shell tool in the real bubblewrap: what commands can do, what they cannot (T-28), and that nothing of them is left.
import assert from 'node:assert/strict'
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import type { ToolContext, ToolOutput } from '../../../src/engine/index.ts'
import { joinText } from '../../../src/language/content.ts'
import type { Report } from '../../../src/language/report.ts'
import type { Json } from '../../../src/lib/json/index.ts'
import { contextFor } from '../../../src/testing/contracts/tool.ts'
import { type ShellOptions, shell } from '../../../src/tools/index.ts'
import { until } from '../../wires/acp/rig.ts'
import { skip } from './bubblewrap.ts'

const base = mkdtempSync(join(tmpdir(), 'turnwire-shell-'))
after(() => rmSync(base, { recursive: true, force: true }))

type Result = { stdout: string; stderr: string; exit_code: number; timed_out?: true }

function open(options: Partial<ShellOptions> = {}) {
  const folder = mkdtempSync(join(base, 'w-'))
  const made = shell({ root: folder, ...options })
  const run = async (input: Json, changes: Partial<ToolContext> = {}): Promise<ToolOutput> =>
    made.run(input, contextFor(changes))
  const results = async (input: Json, changes: Partial<ToolContext> = {}): Promise<Result[]> =>
    ((await run(input, changes)).structured as { results: Result[] }).results
  const one = async (command: string, changes: Partial<ToolContext> = {}): Promise<Result> =>
    (await results({ commands: [command] }, changes))[0]!
  return { made, folder, run, results, one }
}

/** Processes of this machine whose command line holds a word. */
function processesWith(word: string): string[] {
  return readdirSync('/proc').filter(pid => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(word)
    } catch {
      return false
    }
  })
}

describe('commands', { skip }, () => {
  test('run in the workspace, each with its own output and exit code', async () => {
    const { results, folder } = open()
    const ends = await results({
      commands: ['echo out; echo err >&2; echo made > a.txt', 'exit 3', 'cat a.txt'],
    })
    assert.deepEqual(ends, [
      { stdout: 'out\n', stderr: 'err\n', exit_code: 0 },
      { stdout: '', stderr: '', exit_code: 3 },
      { stdout: 'made\n', stderr: '', exit_code: 0 },
    ])
    assert.equal(readFileSync(join(folder, 'a.txt'), 'utf8'), 'made\n')
  })

  test('share the working folder and exported variables within a session, until it restarts', async () => {
    const { one, run } = open()
    await one('mkdir "a b" && cd "a b" && export WORD="it\'s \\"x\\""')
    assert.equal((await one('echo "$PWD $WORD"')).stdout, '/workspace/a b it\'s "x"\n')
    assert.equal((await one('pwd', { session: 'another' })).stdout, '/workspace\n')
    assert.equal(joinText((await run({ restart: true })).parts), 'The shell starts anew.')
    assert.equal((await one('echo "$PWD $WORD"')).stdout, '/workspace \n')
  })

  test('are shown live as terminals', async () => {
    const { made, folder } = open()
    const shown: Report[] = []
    const pieces: string[] = []
    const seen = Promise.withResolvers<void>()
    const context = contextFor({
      report: report => void shown.push(report),
      progress(update) {
        if (!('output' in update)) return
        pieces.push(`${update.terminal}:${update.output}`)
        seen.resolve()
      },
    })
    // The second half is printed only after the first was seen here.
    const command = 'echo first; until [ -e go ]; do sleep 0.05; done; echo second'
    const running = made.run({ commands: [command] }, context)
    await seen.promise
    assert.deepEqual(pieces, ['1:first\n'])
    writeFileSync(join(folder, 'go'), '')
    await running
    assert.deepEqual(pieces, ['1:first\n', '1:second\n'])
    assert.deepEqual(shown[0]?.terminals, [{ id: '1', command, cwd: '/workspace' }])
    assert.deepEqual(shown.at(-1)?.terminals?.[0]?.exit, { code: 0 })
    assert.deepEqual(await made.preview!({ commands: ['rm x'] }, contextFor()), {
      terminals: [{ id: '1', command: 'rm x', cwd: '/workspace' }],
    })
  })
})

describe('the sandbox', { skip }, () => {
  test('has no network, no host files, no host environment and no host processes', async () => {
    process.env['SECRET_OF_THE_HOST'] = 'canary'
    const { one } = open({ env: { GIVEN: 'yes' } })
    const net = await one('(echo > /dev/tcp/169.254.169.254/80) 2>&1; (echo > /dev/tcp/127.0.0.1/22) 2>&1')
    assert.match(net.stdout, /unreachable(.|\n)*(refused|unreachable)/)
    assert.notEqual(net.exit_code, 0)
    const env = await one('env; cat /proc/*/environ 2>/dev/null | tr "\\0" "\\n"')
    assert.match(env.stdout, /GIVEN=yes/)
    assert.ok(!env.stdout.includes('canary'))
    const files = await one('cat /etc/passwd /etc/shadow /root/.ssh/id_rsa; ls /home /root /var')
    assert.equal(files.stdout, '')
    const processes = await one('ls -d /proc/[0-9]* | wc -l; readlink /proc/1/exe')
    assert.ok(Number(processes.stdout.split('\n')[0]) < 10, processes.stdout)
    assert.ok(!processes.stdout.includes(readlinkSync('/proc/self/exe')))
    // The parent can be neither signalled nor traced, because it has no number inside.
    const parent = `kill -9 ${process.pid}; ls -d /proc/${process.pid}; cat /proc/${process.pid}/mem; readlink /proc/1/ns/pid`
    const traced = await one(parent)
    assert.match(traced.stderr, /No such process(.|\n)*No such file(.|\n)*No such file/)
    assert.ok(!traced.stdout.includes(readlinkSync('/proc/self/ns/pid')))
    const caps = await one('grep CapEff /proc/self/status')
    assert.match(caps.stdout, /0000000000000000/)
  })

  test('can be written in the workspace and in /tmp only, within limits', async () => {
    const { one, folder } = open({ limits: { fileBytes: 1024 * 1024, temporaryBytes: 1024 * 1024 } })
    const system = await one(
      'for at in / /usr /etc /dev /bin /proc/sys/kernel; do touch $at/x 2>/dev/null && echo $at; done',
    )
    assert.equal(system.stdout, '')
    const large = await one('head -c 5M /dev/zero > large')
    assert.match(large.stderr, /File (size|too large)/i)
    assert.equal(readFileSync(join(folder, 'large')).length, 1024 * 1024)
    const temporary = await one('head -c 900K /dev/zero > /tmp/a; head -c 900K /dev/zero > /tmp/b')
    assert.match(temporary.stderr, /No space left/)
  })

  test('links in the workspace do not lead out of it', async () => {
    writeFileSync(join(base, 'secret'), 'SECRET')
    const { one } = open()
    const out = await one(`ln -s ${join(base, 'secret')} a; ln -s ../secret b; cat a b; cat ../secret`)
    assert.ok(!out.stdout.includes('SECRET'))
    // A hard link from another mount is refused by the kernel.
    assert.match((await one('ln /usr/bin/env hard')).stderr, /cross-device|not permitted/i)
  })
})

describe('limits', { skip }, () => {
  test('time: the whole tree is gone, and what was shown so far is told', async () => {
    const { results } = open()
    const word = `98${process.pid}`
    const [late, never] = await results({
      commands: [`echo begun; (setsid sleep ${word} &); sleep ${word}`, 'echo never'],
      timeout_ms: 3000,
    })
    assert.equal(late?.timed_out, true)
    assert.equal(late?.stdout, 'begun\n')
    assert.match(never?.stderr ?? '', /Not run/)
    await until(() => processesWith(word).length === 0)
  })

  test('a cancellation ends it, and daemons that a command leaves end with it', async () => {
    const { made, one } = open()
    const word = `97${process.pid}`
    const stop = new AbortController()
    const seen = Promise.withResolvers<void>()
    const progress = () => seen.resolve()
    const running = made.run(
      { commands: [`echo begun; sleep ${word}`] },
      contextFor({ signal: stop.signal, progress }),
    ) as Promise<ToolOutput>
    await seen.promise
    stop.abort(new Error('no more'))
    await assert.rejects(running, /no more/)
    await until(() => processesWith(word).length === 0)
    const left = `96${process.pid}`
    assert.equal((await one(`setsid nohup sleep ${left} > /dev/null 2>&1 & echo left`)).stdout, 'left\n')
    await until(() => processesWith(left).length === 0)
  })

  test('processes: a fork bomb is stopped', async () => {
    const { one } = open({ limits: { processes: 40 } })
    const bomb = await one('f() { sleep 5 & f; }; f 2>/dev/null; sleep 30')
    assert.notEqual(bomb.exit_code, 0)
    assert.match(bomb.stderr, /more than 40 processes|Resource temporarily unavailable|fork/)
  })

  test('memory: of all processes together', async () => {
    const { one } = open({ limits: { memoryBytes: 64 * 1024 * 1024 } })
    const hungry = await one('head -c 2G /dev/zero | tail | wc -c')
    assert.match(hungry.stderr, /more than 67108864 bytes of memory/)
    assert.equal(hungry.exit_code, 137)
  })

  test('disk: many files together', async () => {
    const { bavail, bsize } = statfsSync(base)
    const { one, folder } = open({ limits: { freeBytes: bavail * bsize - 100 * 1024 * 1024 } })
    const full = await one('for ((n = 0; ; n++)); do head -c 10M /dev/zero > $n; done')
    assert.match(full.stderr, /It left less than \d+ bytes free on the disk and was stopped/)
    assert.equal(full.exit_code, 137)
    rmSync(folder, { recursive: true })
  })

  test('output: the beginning and the end are kept, and live output ends too', async () => {
    const { made } = open({ limits: { outputBytes: 1000 } })
    const before = process.memoryUsage().rss
    let live = 0
    const progress: ToolContext['progress'] = update => {
      if ('output' in update) live += update.output.length
    }
    const output = await made.run(
      { commands: ['echo begin; head -c 1G /dev/zero | tr "\\0" x; echo end'] },
      contextFor({ progress }),
    )
    const [{ stdout }] = (output.structured as { results: [Result] }).results
    assert.ok(stdout.length < 1100 && live < 5000, `${stdout.length} ${live}`)
    assert.match(stdout, /^begin\nx+\n\[10737\d+ characters left out\]\nx+end\n$/)
    assert.ok(process.memoryUsage().rss - before < 200 * 1024 * 1024)
  })
})

/** As bubblewrap is while it starts: what it has made would outlive it, and it has not said yet what it made. */
const starting = (word: string): string => `#!/bin/bash
setsid sleep ${word} &
sleep 0.3
echo '{"child-pid": '$!'}' >&4
wait
`

test('a command that is cancelled while its sandbox is being made leaves nothing', async () => {
  const word = `95${process.pid}`
  const program = join(base, 'starting')
  writeFileSync(program, starting(word), { mode: 0o755 })
  const { made } = open({ bubblewrap: program })
  const stop = new AbortController()
  const running = made.run({ commands: ['true'] }, contextFor({ signal: stop.signal })) as Promise<ToolOutput>
  setImmediate(() => stop.abort(new Error('no more')))
  await assert.rejects(running, /no more/)
  await until(() => processesWith(word).length === 0)
})

test('cancelled at any moment, a real sandbox leaves nothing', { skip }, async () => {
  const word = `94${process.pid}`
  const { made } = open()
  for (let ms = 0; ms < 24; ms += 2) {
    const signal = AbortSignal.timeout(ms)
    const run = async () => made.run({ commands: [`sleep ${word}`] }, contextFor({ signal }))
    await assert.rejects(run)
  }
  await until(() => processesWith(word).length === 0)
})

test('without bubblewrap nothing is run, and the reason is given', async () => {
  const { made } = open({ bubblewrap: '/no/such/bwrap' })
  assert.match(made.unavailable ?? '', /bubblewrap is not installed/)
  await assert.rejects(
    async () => made.run({ commands: ['true'] }, contextFor()),
    /Nothing was run: bubblewrap/,
  )
})

test('a sandbox that cannot be made runs nothing', { skip }, async () => {
  const { made, folder } = open({ readable: [] })
  rmSync(folder, { recursive: true })
  await assert.rejects(async () => made.run({ commands: ['true'] }, contextFor()))
})

test('the definition is checked', () => {
  assert.throws(() => shell({ root: '/no/such' }), { code: 'invalid_tool', message: /needs "root"/ })
  assert.throws(() => shell({ root: base, vendorTyped: ['x'] }), { message: /bash_20250124/ })
})
