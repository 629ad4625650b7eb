// Runs every test file with Node's own runner and prints the ten slowest files. Arguments narrow the run:
// `npm run test:run -- aap store` takes the files whose path contains one of the words.
//
// In a run of all files, many short files share a process (test-groups.mjs), and a file that fails is run once more, alone,
// after the others. If it passes then, it is printed as flaky with its first error and the run succeeds: a flaky test is
// mended next, it does not hold up a change. Where many files fail, something is broken: none is run again.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { createServer } from 'node:http'
import { availableParallelism } from 'node:os'
import { relative } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'
import { groupFiles } from './test-groups.mjs'

// The longest files and folders start first, then the rest of `test`, then the unit tests, which are short: so no long file
// runs alone at the end. Files that mostly wait stand among those that compute.
const longest = [
  'test/browser/console-s',
  'test/crash/points',
  'test/cluster/processes',
  'test/faults/io-errors',
  'test/stores/postgres/nodes',
  'test/tools/mcp/contract',
  'test/browser/',
  'test/package',
  'test/bounded/checks',
  'test/cluster/',
  'test/tools/browser/',
  'test/wires/mcp/conformance/',
  'test/docs/docs',
  'test/sim/',
  'test/wires/any-wire',
  'test/bounded/',
  'test/payments/crash',
  'test/stores/postgres/',
  'test/crash/',
  'test/payments/nodes',
  'test/relay/nodes',
  'test/wires/nested-answers',
  'test/wires/aap/nested',
  'test/cli/',
  'test/tools/',
  'test/examples',
  'test/stores/',
  'test/',
]

const words = process.argv.slice(2).filter(word => !word.startsWith('-'))
const flags = process.argv.slice(2).filter(word => word.startsWith('-'))
const rank = file => longest.findIndex(start => file.startsWith(start)) + 1 || longest.length + 1
const files = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'])
  .filter(file => words.length === 0 || words.some(word => file.includes(word)))
  .sort()
  .sort((a, b) => rank(a) - rank(b))
if (files.length === 0) {
  console.error(`No test file matches: ${words.join(' ')}`)
  process.exit(1)
}

// Set inside a test of this script: with it Node would report to that test's runner instead of running files.
delete process.env.NODE_TEST_CONTEXT
const env = { ...process.env, NODE_ENV: 'test' }
// The vendors' SDKs read keys, addresses and proxies from the environment; a test names its own.
for (const name of Object.keys(env)) {
  if (/^(OPENAI|ANTHROPIC|GEMINI|GOOGLE|AZURE|TURNWIRE|OTEL)_|^https?_proxy$|^all_proxy$/i.test(name))
    delete env[name]
}
// Programs that tests start would keep their sessions there.
if (env.DATABASE_URL) {
  env.TEST_DATABASE_URL = env.DATABASE_URL
  delete env.DATABASE_URL
}
// Hundreds of processes load the same files. Each file is compiled once, for this run and the next ones.
env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url))

/** Starts one PostgreSQL for all files when the first of them asks for its address, with a request to TEST_POSTGRES. */
async function lendPostgres() {
  let server
  const start = async () => {
    const { startServer } = await import('../test/stores/postgres/server.ts')
    return startServer(['max_connections=400'])
  }
  const lender = createServer((_request, response) => {
    server ??= start()
    server.then(
      ({ url }) => response.end(url),
      error => response.writeHead(500).end(`PostgreSQL did not start: ${error.message}`),
    )
  })
  await new Promise(resolve => lender.listen(0, '127.0.0.1', resolve))
  env.TEST_POSTGRES = `http://127.0.0.1:${lender.address().port}/`
  return async () => {
    lender.close()
    await server?.then(
      started => started.remove(),
      () => {}, // It has told who asked.
    )
  }
}

/** Runs files, started in this order, and gives one result per file: { file, passed, failed, skipped, ms, error, failedIn }. */
async function runFiles(chosen, concurrency) {
  const timeout = flags.find(flag => flag.startsWith('--test-timeout='))?.split('=')[1]
  const events = run({
    files: chosen,
    concurrency,
    // The limit ends a test that hangs. It holds for a whole file too, so it must not depend on how busy the machine is.
    timeout: Number(timeout ?? 900_000),
    execArgv: [...flags, '--import', new URL('test-limit.mjs', import.meta.url).href],
    env,
  })
  const results = collectResults(events)
  for await (const text of events.compose(new spec())) process.stdout.write(text)
  return results
}

/**
 * Node gives the events of one file together, in the order of the files, and closes them with a summary. A file whose
 * process ended early has no summary but a failed test with the file's name; a file without tests a passed one.
 */
function collectResults(events) {
  const results = []
  const times = new Map()
  let error
  let failedIn
  const isFile = data => data.nesting === 0 && data.file?.endsWith(data.name)
  const add = (file, { passed, failed, cancelled, skipped }, ms) => {
    results.push({
      file: relative(process.cwd(), file),
      passed,
      failed: failed + cancelled,
      skipped,
      ms: times.get(file) ?? ms ?? 0,
      error,
      failedIn,
    })
    error = undefined
    failedIn = undefined
  }
  events.on('test:complete', data => isFile(data) && times.set(data.file, data.details.duration_ms))
  events.on('test:fail', data => {
    const { failureType, cause, message } = data.details.error
    if (failureType !== 'subtestsFailed') {
      error ??= `${data.name}: ${cause?.stack ?? message}`
      failedIn ??= data.file && relative(process.cwd(), data.file)
    }
    if (isFile(data)) add(data.file, { passed: 0, failed: 1, cancelled: 0, skipped: 0 })
  })
  events.on('test:pass', data => {
    if (isFile(data)) add(data.file, { passed: 0, failed: 0, cancelled: 0, skipped: 0 })
  })
  events.on('test:summary', data => data.file && add(data.file, data.counts, data.duration_ms))
  return results
}

const returnPostgres = await lendPostgres()
const isWhole = words.length === 0
const runScript = name =>
  spawnSync(process.execPath, [fileURLToPath(new URL(name, import.meta.url))], { env, stdio: 'inherit' })
if (isWhole && existsSync('src/index.ts')) runScript('compile.mjs')
// Files that find the console stale would build it at the same time, each under the pages of the others.
if (files.some(file => file.startsWith('test/browser/'))) runScript('build-console.mjs')
const { chosen, groups, remove } = groupFiles(isWhole ? files : [])
const grouped = new Map([...groups].map(([path, held]) => [relative(process.cwd(), path), held]))
const filesOf = ({ file }) => grouped.get(file) ?? [file]
const nameOf = ({ file }) => {
  const held = grouped.get(file)
  return held ? `${held[0]} … ${held.at(-1)} (${held.length} files in one process)` : file
}
// Files wait for about half of their time: for programs that they start, for sockets, disks and timers.
const first = await runFiles(isWhole ? chosen : files, 2 * availableParallelism() + 2)
const failures = first.filter(result => result.failed > 0)
// A narrowed run has no second one.
if (isWhole && failures.length > 20) console.log(`\n${failures.length} files failed: none is run again.`)
const isWorthAnother = isWhole && failures.length > 0 && failures.length <= 20
const again = isWorthAnother ? await runFiles(failures.flatMap(filesOf), 1) : []
await returnPostgres()
remove()

console.log('\nThe ten slowest files:')
for (const result of first.toSorted((a, b) => b.ms - a.ms).slice(0, 10))
  console.log(`${(result.ms / 1000).toFixed(1).padStart(7)} s  ${nameOf(result)}`)

const passedAlone = new Set(again.filter(each => each.failed === 0).map(each => each.file))
const flaky = failures.filter(each => filesOf(each).every(file => passedAlone.has(file)))
if (flaky.length > 0) console.log(`\nFlaky, passed when run alone: ${flaky.length}`)
for (const each of flaky) {
  const file = grouped.has(each.file) ? (each.failedIn ?? nameOf(each)) : each.file
  console.log(`  ${file}\n    ${each.error.replaceAll('\n', '\n    ')}`)
}

// Files that were run again count with their second result, and a group that failed does not count.
const rerun = new Set(isWorthAnother ? failures : [])
const last = [...first.filter(each => !rerun.has(each)), ...again]
const reported = new Set(last.flatMap(filesOf))
const silent = files.filter(file => !reported.has(file))
if (silent.length > 0) console.log(`\nFiles that reported nothing: ${silent.join(', ')}`)
const sum = field => last.reduce((total, each) => total + each[field], 0)
console.log(`\n${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped`)
process.exit(flaky.length === failures.length && silent.length === 0 ? 0 : 1)
